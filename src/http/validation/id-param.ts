import { Headers, Param, type PipeTransform } from '@nestjs/common';
import { ApiParam } from '@nestjs/swagger';
import { InputMistake } from './input-mistake';
import { readInteger } from './readers/read-integer';
import { readString, type StringBounds } from './readers/read-string';
import { readBefore } from './route-input';

const read = (text: string): number | InputMistake => readInteger(text, { greaterThan: 0 });

/** Reads an id in any spelling of an integer (`+0042`, `4_2`); null if it is not a positive integer. */
export function readId(text: string): number | null {
  const id = read(text);
  return id instanceof InputMistake ? null : id;
}

const toId: PipeTransform<string, number | null> = { transform: readId };

/** Applies a method decorator from within a parameter decorator. */
export function decorateRoute(decorator: MethodDecorator, route: object, handler?: string | symbol): void {
  const descriptor = handler === undefined ? undefined : Object.getOwnPropertyDescriptor(route, handler);
  if (handler !== undefined && descriptor) decorator(route, handler, descriptor);
}

/** @param example a value that Swagger UI fills in */
export const ApiIdParam = (name: string, description: string, example?: number): MethodDecorator =>
  ApiParam({
    name,
    description,
    schema: {
      type: 'integer',
      minimum: 1,
      maximum: Number.MAX_SAFE_INTEGER,
      ...(example !== undefined && { example }),
    },
  });

/** Injects an id from the path, or responds 422. `StaffRoute` describes the ids of staff routes. */
export const IdParam =
  (name: string, description?: string, example?: number): ParameterDecorator =>
  (route, handler, index) => {
    Param(name, toId)(route, handler, index);
    readBefore(route, handler, { place: 'path', name, read: (text = '') => read(text) });
    if (description !== undefined) decorateRoute(ApiIdParam(name, description, example), route, handler);
  };

/** Injects a header, which may be missing or empty. Responds 422 to a value outside the bounds. */
export const TextHeader =
  (name: string, bounds: StringBounds): ParameterDecorator =>
  (route, handler, index) => {
    Headers(name.toLowerCase())(route, handler, index);
    readBefore(route, handler, { place: 'header', name, read: (text) => text && readString(text, bounds) });
  };
