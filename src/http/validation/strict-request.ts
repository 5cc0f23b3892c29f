import { applyDecorators } from '@nestjs/common';
import { ApiExtension } from '@nestjs/swagger';
import type { JsonValue } from '../json/json-value';
import { InputMistake } from './input-mistake';

/** In a query, every value is a string. */
export type FieldPlace = 'query' | 'body';

const STRICT = 'strict-request';
/** Becomes `additionalProperties: false` in the finished description. */
export const STRICT_EXTENSION = 'x-strict';

/** Marks a nullable field. The OpenAPI document shows this only in body schemas. */
export const NULLABLE_EXTENSION = 'x-nullable';

const NO_CONTROLS = String.raw`^[^\x00-\x1f\x7f-\x9f]*$`;
const isWithoutControls = (text: string): boolean => new RegExp(NO_CONTROLS, 'u').test(text);

/**
 * Marks a DTO that rejects unknown fields, control characters, booleans such as `yes` and, in a body,
 * integers written as strings. Other DTOs are read as leniently as in Pydantic.
 */
export const StrictRequest = (): ClassDecorator =>
  applyDecorators(
    (target: object) => Reflect.defineMetadata(STRICT, true, target),
    ApiExtension(STRICT_EXTENSION, true),
  );

export const isStrict = (dto: object): boolean => Reflect.hasMetadata(STRICT, dto);

/** Rejects input that only a lenient DTO accepts. */
export function refuseLoose(input: JsonValue, type: unknown, place: FieldPlace): InputMistake | undefined {
  if (typeof input === 'string' && !isWithoutControls(input)) {
    return new InputMistake(
      'string_pattern_mismatch',
      `String should match pattern '${NO_CONTROLS}'`,
      input,
      {
        pattern: NO_CONTROLS,
      },
    );
  }
  if (type === 'boolean' && place === 'query' && input !== 'true' && input !== 'false') {
    return notBoolean(input);
  }
  if (type === 'integer' && place === 'body' && (typeof input === 'boolean' || typeof input === 'string')) {
    return new InputMistake('int_type', 'Input should be a valid integer', input);
  }
  return undefined;
}

export const notBoolean = (input: JsonValue): InputMistake =>
  new InputMistake('bool_type', 'Input should be a valid boolean', input);

export const unknownField = (input: JsonValue): InputMistake =>
  new InputMistake('extra_forbidden', 'Extra inputs are not permitted', input);
