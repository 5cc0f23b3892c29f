import type { Type } from '@nestjs/common';
import { ApiExtraModels, ApiProperty, type ApiPropertyOptions, getSchemaPath } from '@nestjs/swagger';
import { titleOf } from '../validation/fields';

interface NullableOptions {
  readonly description?: string;
  readonly example?: unknown;
  readonly format?: string;
}

type Described = 'string' | 'integer' | 'number' | 'object' | 'texts' | readonly string[] | Type<object>;

/** @param type the field's type without null, the list of allowed strings, or an object's DTO class */
export const ApiNullable =
  (type: Described, about: string | NullableOptions = {}, example?: unknown): PropertyDecorator =>
  (target, key) => {
    const { format, ...options }: NullableOptions =
      typeof about === 'string' ? { description: about, example } : about;
    if (typeof type === 'function') ApiExtraModels(type)(target.constructor);
    ApiProperty({ ...options, anyOf: [toSchema(type, format), { type: 'null' }] })(target, key);
  };

function toSchema(type: Described, format: string | undefined) {
  if (typeof type === 'function') return { $ref: getSchemaPath(type) };
  if (typeof type === 'object') return { type: 'string', enum: [...type] };
  if (type === 'texts') return TEXTS;
  return { type, ...(format && { format }), ...(type === 'object' && { additionalProperties: true }) };
}

const EXAMPLE_MOMENT = '2026-11-21T12:00:00.000Z';

export const ApiMoment = (description?: string, example = EXAMPLE_MOMENT): PropertyDecorator =>
  ApiProperty({ type: 'string', format: 'date-time', ...(description && { description }), example });

export const ApiNullableMoment = (
  description?: string,
  example: string | null = EXAMPLE_MOMENT,
): PropertyDecorator =>
  ApiNullable('string', { format: 'date-time', ...(description && { description }), example });

export const ApiText = (description: string, example: string): PropertyDecorator =>
  ApiProperty({ type: 'string', description, example });

const TEXTS = { type: 'array' as const, items: { type: 'string' as const } };

export const ApiTexts = (description: string, example: string[]): PropertyDecorator =>
  ApiProperty({ ...TEXTS, description, example });

/** Describes a field with FastAPI's title for it, on routes whose API contract must not change. */
export const ApiTitled =
  (options: ApiPropertyOptions): PropertyDecorator =>
  (target, key) =>
    ApiProperty({ ...options, title: titleOf(String(key)) })(target, key);

export const ApiChoice = (
  words: readonly string[],
  description: string,
  example: string | null,
): PropertyDecorator => ApiProperty({ type: 'string', enum: [...words], description, example });

export const ApiInteger = (description: string, example: number): PropertyDecorator =>
  ApiProperty({ type: 'integer', description, example });

export const ApiBoolean = (description: string, example: boolean): PropertyDecorator =>
  ApiProperty({ type: 'boolean', description, example });

export const ApiListOf = (item: () => Type<object>, description: string): PropertyDecorator =>
  // Nest treats a function as a lazy type only if its name is `type`.
  ApiProperty({ type: () => item(), isArray: true, description });

/** Amounts in responses are strings, e.g. `1234.50`. */
export const ApiRoubles = ApiText;
