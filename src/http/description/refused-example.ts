import type { Type } from '@nestjs/common';
import type { Request } from 'express';
import { readInput } from '../validation/read-input';
import { declaredFields } from '../validation/read-instance';
import { RequestInvalid, type ValidationItem } from '../validation/refusal';
import type { RouteInput } from '../validation/route-input';

/** A free text accepts the first of these alone, and no other field accepts either. */
const NONSENSE = ['?', 6];

/**
 * An example of a mistake that a route refuses with 422: the first one of an empty request, or else of one
 * with nonsense in every field. Undefined if the route accepts both.
 */
export function refusedExample(input: RouteInput): ValidationItem | undefined {
  const nothing = firstMistake(input, '1', {}, {});
  if (nothing) return nothing;
  for (const nonsense of NONSENSE) {
    const fill = (dto: Type<object> | undefined): object => {
      const names = dto ? [...declaredFields(dto.prototype as object).keys()] : [];
      return Object.fromEntries(names.map((name) => [name, nonsense]));
    };
    // An unknown parameter, for routes that refuse any query.
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
    // Only these parts of a request are read.
    readInput(input, { params, query, body, get: () => undefined } as unknown as Request);
    return undefined;
  } catch (error) {
    if (error instanceof RequestInvalid) return error.items[0];
    throw error;
  }
}
