import type { Type } from '@nestjs/common';
import { ApiExtraModels, ApiProperty, getSchemaPath } from '@nestjs/swagger';

interface NullableOptions {
  readonly description?: string;
  readonly example?: unknown;
  readonly format?: string;
}

type Described = 'string' | 'integer' | 'number' | 'object' | readonly string[] | Type<object>;

/**
 * Describes a field of a response that may be null.
 *
 * @param type of the field otherwise; or the words of a choice, or the DTO of an object
 */
export const ApiNullable =
  (type: Described, { format, ...options }: NullableOptions = {}): PropertyDecorator =>
  (target, key) => {
    if (typeof type === 'function') ApiExtraModels(type)(target.constructor);
    ApiProperty({ ...options, anyOf: [toSchema(type, format), { type: 'null' }] })(target, key);
  };

function toSchema(type: Described, format: string | undefined) {
  if (typeof type === 'function') return { $ref: getSchemaPath(type) };
  if (typeof type === 'object') return { type: 'string', enum: [...type] };
  return { type, ...(format && { format }), ...(type === 'object' && { additionalProperties: true }) };
}

const EXAMPLE_MOMENT = '2026-11-21T12:00:00.000Z';

/** Describes a moment of an answer. */
export const ApiMoment = (description?: string, example = EXAMPLE_MOMENT): PropertyDecorator =>
  ApiProperty({ type: 'string', format: 'date-time', ...(description && { description }), example });

/** Describes a moment of an answer that may be null. */
export const ApiNullableMoment = (
  description?: string,
  example: string | null = EXAMPLE_MOMENT,
): PropertyDecorator =>
  ApiNullable('string', { format: 'date-time', ...(description && { description }), example });

/** Describes text of a response. */
export const ApiText = (description: string, example: string): PropertyDecorator =>
  ApiProperty({ type: 'string', description, example });

/** Describes an integer of a response. */
export const ApiInteger = (description: string, example: number): PropertyDecorator =>
  ApiProperty({ type: 'integer', description, example });

/** Describes a boolean of a response. */
export const ApiBoolean = (description: string, example: boolean): PropertyDecorator =>
  ApiProperty({ type: 'boolean', description, example });

/** Describes a list of objects of a response. @param item gives their DTO */
export const ApiListOf = (item: () => Type<object>, description: string): PropertyDecorator =>
  // The name `type` tells Nest that the function names a class.
  ApiProperty({ type: () => item(), isArray: true, description });

/** Describes an amount of an answer: roubles as text, `1234.50`. */
export const ApiRoubles = (description: string, example: string): PropertyDecorator =>
  ApiProperty({ type: 'string', description, example });
