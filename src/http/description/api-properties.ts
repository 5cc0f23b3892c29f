import { ApiProperty } from '@nestjs/swagger';

interface NullableOptions {
  readonly description?: string;
  readonly example?: unknown;
  readonly format?: string;
}

/** Describes a field of an answer that may be null. */
export const ApiNullable = (
  type: 'string' | 'integer' | 'number' | 'object',
  { format, ...options }: NullableOptions = {},
): PropertyDecorator =>
  ApiProperty({
    ...options,
    anyOf: [
      { type, ...(format && { format }), ...(type === 'object' && { additionalProperties: true }) },
      { type: 'null' },
    ],
  });

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

/** Describes an amount of an answer: roubles as text, `1234.50`. */
export const ApiRoubles = (description: string, example: string): PropertyDecorator =>
  ApiProperty({ type: 'string', description, example });
