import type { Type } from '@nestjs/common';
import type { Request } from 'express';
import { RequestInvalid, type ValidationItem } from '../validation/input-mistake';
import { readInput } from '../validation/read-input';
import { declaredFields } from '../validation/read-instance';
import type { RouteInput } from '../validation/route-input';

/** Fields for free text reject the 6; all other fields reject the `?`. */
const NONSENSE = ['?', 6];

/** Returns the first mistake in an empty request or, if that has none, in a request full of nonsense. */
export function refusedExample(input: RouteInput): ValidationItem | undefined {
  const nothing = firstMistake(input, '1', {}, {});
  if (nothing) return nothing;
  for (const nonsense of NONSENSE) {
    const fill = (dto: Type<object> | undefined): object => {
      const names = dto ? [...declaredFields(dto.prototype as object).keys()] : [];
      return Object.fromEntries(names.map((name) => [name, nonsense]));
    };
    // Routes without a query reject the unknown parameter `page`.
    const query = { ...fill(input.query), page: '2' };
    const mistake = firstMistake(input, '?', query, fill(input.body));
    if (mistake) return mistake;
  }
  return undefined;
}

function firstMistake(
  input: RouteInput,
  id: string,
  query: object,
  body: object,
): ValidationItem | undefined {
  const params = Object.fromEntries(input.path.map(({ name }) => [name, id]));
  try {
    // `readInput` reads only these fields of a request.
    readInput(input, { params, query, body, get: () => undefined } as unknown as Request);
    return undefined;
  } catch (error) {
    if (error instanceof RequestInvalid) return error.items[0];
    throw error;
  }
}
