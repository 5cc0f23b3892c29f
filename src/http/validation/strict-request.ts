import { applyDecorators } from '@nestjs/common';
import { ApiExtension } from '@nestjs/swagger';
import type { JsonValue } from '../json/json-value';
import { InputMistake } from './input-mistake';

/** Where the fields are in a request. In a query, every value is a string. */
export type FieldPlace = 'query' | 'body';

const STRICT = 'strict-request';
/** Marks the schema of a strict DTO. The finished description says `additionalProperties: false` instead. */
export const STRICT_EXTENSION = 'x-strict';

/** Marks a field that may be null. Only bodies can contain null, so only their schemas show it. */
export const NULLABLE_EXTENSION = 'x-nullable';

const NO_CONTROLS = String.raw`^[^\x00-\x1f\x7f-\x9f]*$`;
const isWithoutControls = (text: string): boolean => new RegExp(NO_CONTROLS, 'u').test(text);

/**
 * Marks a DTO whose fields are accepted only as described. It rejects unknown fields, control characters in
 * strings, words for booleans other than `true` and `false`, and integers written as strings in a body.
 * Without the mark, a DTO is read as leniently as in Pydantic.
 */
export const StrictRequest = (): ClassDecorator =>
  applyDecorators(
    (target: object) => Reflect.defineMetadata(STRICT, true, target),
    ApiExtension(STRICT_EXTENSION, true),
  );

export const isStrict = (dto: object): boolean => Reflect.hasMetadata(STRICT, dto);

/** Returns the mistake in an input that only a lenient DTO accepts; undefined if there is none. */
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
