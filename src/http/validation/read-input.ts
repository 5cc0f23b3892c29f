import type { Type } from '@nestjs/common';
import type { Request } from 'express';
import { isJsonObject, type JsonValue } from '../json/json-value';
import { boundedMistakes } from './bounded-mistakes';
import { missing, notAnObject } from './fields';
import { InputMistake, ItemMistakes, RequestInvalid } from './input-mistake';
import { readInstance } from './read-instance';
import { RequestFields } from './request-fields';
import type { RouteInput } from './route-input';
import { isStrict, unknownField } from './strict-request';

type Place = 'path' | 'query' | 'header' | 'body';

/** DTO instances by parsed query or body. */
const instances = new WeakMap<object, object>();

export const instanceOf = (input: object): object | undefined => instances.get(input);

/** @throws RequestInvalid with the mistakes in FastAPI's order; strict routes list only the first ones */
export function readInput({ path, query, header, body, refusesQuery }: RouteInput, request: Request): void {
  const refused: [Place, InputMistake | ItemMistakes][] = [];
  const keep = (place: Place, read: object, input?: object): void => {
    if (read instanceof InputMistake || read instanceof ItemMistakes) refused.push([place, read]);
    else if (input) instances.set(input, read);
  };
  const keepText = (place: Place, name: string, read: unknown): void => {
    if (read instanceof InputMistake) keep(place, new ItemMistakes([[name, read]]));
  };
  for (const { name, read } of path) keepText('path', name, read(request.params[name] as string));
  if (query || refusesQuery) {
    const given = parsedOnce(request);
    keep('query', query ? readQuery(query, given) : refuseQuery(given), given);
  }
  for (const { name, read } of header) keepText('header', name, read(request.get(name)));
  if (body) {
    const given = request.body as JsonValue;
    keep('body', readBody(body, given), isJsonObject(given) ? given : undefined);
  }
  if (refused.length === 0) return;
  const all = new ItemMistakes(refused);
  const isBounded = refusesQuery || (query && isStrict(query)) || (body && isStrict(body));
  throw new RequestInvalid(isBounded ? boundedMistakes(all.at(), all.count) : [...all.at()]);
}

/** Parses the query only once. Express would parse it on each access. */
function parsedOnce(request: Request): Record<string, string> {
  const query = request.query as Record<string, string>;
  Object.defineProperty(request, 'query', { value: query });
  return query;
}

const readQuery = (dto: Type<object>, query: Record<string, string>): object =>
  readInstance(dto, new RequestFields(query, null, 'query', isStrict(dto)));

function refuseQuery(query: Record<string, string>): object {
  const strays = Object.entries(query).map(([name, text]) => [name, unknownField(text)] as const);
  return strays.length > 0 ? new ItemMistakes(strays) : query;
}

function readBody(dto: Type<object>, body: JsonValue): object {
  if (body === null) return missing(null);
  if (!isJsonObject(body)) return notAnObject(body);
  return readInstance(dto, new RequestFields(body, body, 'body', isStrict(dto)));
}
