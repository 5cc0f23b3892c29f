import { applyDecorators } from '@nestjs/common';
import { ApiProperty, type ApiPropertyOptions } from '@nestjs/swagger';
import { Expose, Transform } from 'class-transformer';
import { Validate, ValidatorConstraint, type ValidatorConstraintInterface } from 'class-validator';

import type { JsonValue } from '../json/json-value';
import { readBoolean } from './read-boolean';
import { readInteger } from './read-integer';
import { readString } from './read-string';
import { Refusal } from './refusal';
import { RequestFields } from './request-fields';

export interface IntegerFieldOptions {
  readonly greaterThan?: number;
  readonly atMost?: number;
  readonly default?: number;
}

export interface StringFieldOptions {
  /** In code points, as is `maxLength`. */
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly default?: string;
}

export interface BooleanFieldOptions {
  readonly default?: boolean;
}

type FieldValue = string | number | boolean | null;

interface Field {
  /** The field as OpenAPI 3.1 describes it. */
  readonly schema: Readonly<Record<string, unknown>>;
  /** What the field is when the request leaves it out. A field without it is required. */
  readonly fallback: FieldValue | undefined;
  readonly read: (input: JsonValue) => FieldValue | Refusal;
}

interface FieldSource {
  readonly obj: RequestFields;
  readonly key: string;
}

/** An integer of a request DTO. Without a default it is required. */
export function IntegerField(options: IntegerFieldOptions = {}): PropertyDecorator {
  const { greaterThan, atMost, default: fallback } = options;
  return requestField({
    schema: defined({ type: 'integer', maximum: atMost, exclusiveMinimum: greaterThan, default: fallback }),
    fallback,
    read: (input) => readInteger(input, options),
  });
}

/** Text of a request DTO. Without a default it is required. */
export function StringField(options: StringFieldOptions = {}): PropertyDecorator {
  const { minLength, maxLength, pattern, default: fallback } = options;
  return requestField({
    schema: defined({ type: 'string', minLength, maxLength, pattern, default: fallback }),
    fallback,
    read: (input) => readString(input, options),
  });
}

/** Text of a query that may be left out, and is null then. */
export function OptionalStringField(options: Omit<StringFieldOptions, 'default'> = {}): PropertyDecorator {
  return requestField({
    schema: { anyOf: [defined({ type: 'string', ...options }), { type: 'null' }] },
    fallback: null,
    read: (input) => readString(input, options),
  });
}

/** A boolean of a request DTO. Without a default it is required. */
export function BooleanField({ default: fallback }: BooleanFieldOptions = {}): PropertyDecorator {
  return requestField({
    schema: defined({ type: 'boolean', default: fallback }),
    fallback,
    read: readBoolean,
  });
}

/**
 * One declaration for the three libraries that have to know of a field: class-transformer reads it (to its value or to a
 * Refusal), class-validator collects the refusals in the order of declaration, Swagger describes it.
 */
function requestField({ schema, fallback, read }: Field): PropertyDecorator {
  return (target, key) => {
    applyDecorators(
      ApiProperty(describe({ ...schema, title: titleOf(String(key)) }, fallback === undefined)),
      Expose(),
      Transform(({ obj, key: name }: FieldSource) => readField(obj, name, fallback, read), {
        toClassOnly: true,
      }),
      Validate(NotRefused),
    )(target, key);
  };
}

function describe(schema: Readonly<Record<string, unknown>>, required: boolean): ApiPropertyOptions {
  // A parameter's `anyOf` is given as a whole: Nest would put a type beside it.
  const description = 'anyOf' in schema ? { type: 'string', required, schema } : { ...schema, required };
  // Nest's types know the `exclusiveMinimum` of OpenAPI 3.0 alone, which is a boolean.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return description as ApiPropertyOptions;
}

function readField(
  fields: RequestFields,
  name: string,
  fallback: FieldValue | undefined,
  read: Field['read'],
): FieldValue | Refusal {
  const input = fields.find(name);
  if (input !== undefined) return read(input);
  return fallback === undefined ? missing(fields.inputWhenMissing) : fallback;
}

export function missing(input: JsonValue): Refusal {
  return new Refusal('missing', 'Field required', input);
}

@ValidatorConstraint()
class NotRefused implements ValidatorConstraintInterface {
  validate(value: unknown): boolean {
    return !(value instanceof Refusal);
  }
}

/** `proxy_type` → `Proxy Type`, as FastAPI titles it. */
function titleOf(name: string): string {
  return name.replace(
    /(^|_)([a-z])/g,
    (_, gap: string, letter: string) => (gap && ' ') + letter.toUpperCase(),
  );
}

function defined(schema: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(schema).filter(([, value]) => value !== undefined));
}
