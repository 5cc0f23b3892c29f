import { applyDecorators, type Type } from '@nestjs/common';
import { ApiExtraModels, ApiProperty, type ApiPropertyOptions, getSchemaPath } from '@nestjs/swagger';
import { Expose, Transform } from 'class-transformer';
import type { ValidatorConstraintInterface } from 'class-validator';
import { Validate, ValidatorConstraint } from 'class-validator/cjs/decorator/common/Validate';
import type { Money } from '../../common';
import { isJsonObject, type JsonValue } from '../json/json-value';
import { InputMistake, ItemMistakes } from './input-mistake';
import { declareField, readInstance } from './read-instance';
import { readAmount } from './readers/read-amount';
import { readBoolean } from './readers/read-boolean';
import { readBound, readDate, readDateTime } from './readers/read-date';
import { type IntegerBounds, readInteger } from './readers/read-integer';
import { readString, type StringBounds } from './readers/read-string';
import { RequestFields } from './request-fields';
import { notBoolean, NULLABLE_EXTENSION, refuseLoose } from './strict-request';

export interface FieldOptions {
  readonly description?: string;
  /** Swagger UI fills in the example if the field is required. */
  readonly example?: unknown;
  readonly deprecated?: true;
  /**
   * `refused` (the default) requires the field. `null` accepts null, and reads an omitted field as null.
   * `omitted` reads an omitted field as undefined, so that an update keeps the current value.
   */
  readonly absent?: 'refused' | 'null' | 'omitted';
  /** Whether the request may contain null, which clears the current value. */
  readonly nullable?: true;
}

export interface IntegerFieldOptions extends FieldOptions, IntegerBounds {
  readonly default?: number;
}

export interface StringFieldOptions extends FieldOptions, StringBounds {
  readonly default?: string;
  /** Whether control characters are accepted even in a strict request. */
  readonly anyCharacter?: true;
  /** Described as an `enum` without a `pattern`, because some generators fail when a field has both. */
  readonly choices?: readonly string[];
  /** Documents the query parameter as nullable, because the API contract must not change. */
  readonly describesNull?: true;
  /** Converts or rejects a string that is within the bounds. */
  readonly refine?: (text: string) => string | InputMistake | undefined;
}

export interface StringListFieldOptions extends FieldOptions {
  readonly atLeast?: number;
  readonly atMost: number;
  readonly of: {
    readonly isValid: (item: string) => boolean;
    readonly type: string;
    readonly msg: string;
    /** Accepted values to list in the API description. */
    readonly choices?: readonly string[];
  };
}

type FieldValue = string | number | boolean | null | Money | Date | readonly string[] | object;
type Outcome = FieldValue | InputMistake | ItemMistakes | undefined;

interface Field extends Pick<StringFieldOptions, 'anyCharacter'> {
  /** OpenAPI 3.1 schema, without null. */
  readonly schema: Readonly<Record<string, unknown>>;
  readonly options: FieldOptions & { readonly default?: FieldValue };
  readonly read: (input: JsonValue, fields: RequestFields) => Outcome;
}

interface FieldSource {
  readonly obj: RequestFields;
  readonly key: string;
}

export function IntegerField(options: IntegerFieldOptions = {}): PropertyDecorator {
  const { atLeast, greaterThan, atMost } = options;
  return requestField({
    schema: defined({
      type: 'integer',
      minimum: atLeast,
      maximum: atMost,
      exclusiveMinimum: greaterThan,
      default: options.default,
    }),
    options,
    read: (input) => readInteger(input, options),
  });
}

export function StringField(options: StringFieldOptions = {}): PropertyDecorator {
  const { minLength, maxLength, pattern, choices } = options;
  const schema = defined({
    type: 'string',
    minLength,
    maxLength,
    ...(choices ? { enum: choices } : { pattern }),
    default: options.default,
  });
  return requestField({
    ...(options.anyCharacter && { anyCharacter: true }),
    schema: options.describesNull ? { anyOf: [schema, { type: 'null' }] } : schema,
    options,
    read: (input) => {
      const text = readString(input, options);
      return text instanceof InputMistake ? text : (options.refine?.(text) ?? text);
    },
  });
}

/** In a body, accepts only a JSON boolean. */
export function BooleanField(options: FieldOptions & { readonly default?: boolean } = {}): PropertyDecorator {
  return requestField({
    schema: defined({ type: 'boolean', default: options.default }),
    options,
    read: (input, { place }) => (place === 'body' ? readExactBoolean(input) : readBoolean(input)),
  });
}

const readExactBoolean = (input: JsonValue): boolean | InputMistake =>
  typeof input === 'boolean' ? input : notBoolean(input);

/** Lists both types, because generated clients reject a type that the description does not mention. */
const AMOUNT = [
  { type: 'string', pattern: String.raw`^([1-9]\d{0,11}(\.\d{1,2})?|0\.(0[1-9]|[1-9]\d?))$` },
  { type: 'number', minimum: 0.01, maximum: 999_999_999_999.99 },
];

const AMOUNT_OR_ZERO = [
  { type: 'string', pattern: String.raw`^(0|[1-9]\d{0,11})(\.\d{1,2})?$` },
  { type: 'number', minimum: 0, maximum: 999_999_999_999.99 },
];

/** Declares an amount in roubles with at most two decimals, as a string or a number. */
export function AmountField({
  orZero = false,
  ...options
}: FieldOptions & { readonly orZero?: boolean } = {}): PropertyDecorator {
  return requestField({
    schema: { anyOf: orZero ? AMOUNT_OR_ZERO : AMOUNT },
    options,
    read: (input) => readAmount(input, orZero),
  });
}

/** Reads an ISO 8601 date-time with an offset from UTC into a `Date`. */
export function DateTimeField(options: FieldOptions = {}): PropertyDecorator {
  return requestField({
    schema: { type: 'string', format: 'date-time' },
    options,
    // Only strict requests accept other spellings: the 422 responses of other requests must not change.
    read: (input, { strict }) => readDateTime(input, strict !== undefined),
  });
}

/** Reads a bound of a period into a `Date`: a date-time, or a day, which the period then includes. */
export function BoundField(side: 'start' | 'end', options: FieldOptions = {}): PropertyDecorator {
  const schema = { anyOf: ['date-time', 'date'].map((format) => ({ type: 'string', format })) };
  const read: Field['read'] = (input, { strict }) => readBound(side, input, strict !== undefined);
  return requestField({ schema, options, read });
}

/** Declares a day such as `2026-11-21`, which stays a string. */
export function DateField(options: FieldOptions = {}): PropertyDecorator {
  return requestField({ schema: { type: 'string', format: 'date' }, options, read: readDate });
}

export function ObjectField(of: Type<object>, options: FieldOptions = {}): PropertyDecorator {
  const field = requestField({
    schema: { allOf: [{ $ref: getSchemaPath(of) }] },
    options,
    read: (input, fields) =>
      isJsonObject(input) ? readInstance(of, fields.within(input)) : notAnObject(input),
  });
  return (target, key) => {
    ApiExtraModels(of)(target.constructor);
    field(target, key);
  };
}

export function StringListField(options: StringListFieldOptions): PropertyDecorator {
  const { atLeast, atMost, of } = options;
  const items = defined({ type: 'string', enum: of.choices });
  return requestField({
    schema: defined({ type: 'array', items, minItems: atLeast, maxItems: atMost }),
    options,
    read: (input) => readStringList(input, options),
  });
}

function readStringList(
  input: JsonValue,
  { atLeast = 0, atMost, of }: StringListFieldOptions,
): readonly string[] | InputMistake | ItemMistakes {
  if (!Array.isArray(input)) return new InputMistake('list_type', 'Input should be a valid list', input);
  const items: readonly JsonValue[] = input;
  const size = `item${atLeast === 1 ? '' : 's'} after validation, not ${items.length}`;
  if (items.length < atLeast) {
    const ctx = { field_type: 'List', min_length: atLeast, actual_length: items.length };
    return new InputMistake('too_short', `List should have at least ${atLeast} ${size}`, input, ctx);
  }
  if (items.length > atMost) {
    const ctx = { field_type: 'List', max_length: atMost, actual_length: items.length };
    return new InputMistake('too_long', `List should have at most ${atMost} ${size}`, input, ctx);
  }
  const read = items.map((item) => {
    const text = readString(item, { maxLength: 1000 });
    return text instanceof InputMistake || of.isValid(text) ? text : new InputMistake(of.type, of.msg, item);
  });
  const refused = read.flatMap((item, n): [number, InputMistake][] =>
    item instanceof InputMistake ? [[n, item]] : [],
  );
  return refused.length > 0 ? new ItemMistakes(refused) : read.filter((item) => typeof item === 'string');
}

/**
 * Declares a field to class-transformer (parsing), class-validator (validation errors) and Swagger
 * (documentation).
 */
function requestField({ schema, options, read, anyCharacter }: Field): PropertyDecorator {
  const readExactly: Field['read'] = (input, fields) => {
    const value = read(input, fields);
    const isRefused = value instanceof InputMistake || value instanceof ItemMistakes;
    if (!fields.strict || anyCharacter || isRefused) return value;
    return refuseLoose(input, schema['type'], fields.strict) ?? value;
  };
  return (target, key) => {
    declareField(target, String(key), {
      schema,
      description: options.description,
      isRequired: isRequired(options),
    });
    applyDecorators(
      ApiProperty(describe({ ...schema, title: titleOf(String(key)) }, options)),
      Expose(),
      Transform(({ obj, key: name }: FieldSource) => readField(obj, name, options, readExactly), {
        toClassOnly: true,
      }),
      Validate(NotRefused),
    )(target, key);
  };
}

const isRequired = ({ absent = 'refused', ...options }: Field['options']): boolean =>
  options.default === undefined && absent === 'refused';

const takesNull = ({ absent, nullable }: FieldOptions): boolean => absent === 'null' || nullable === true;

function describe(schema: Readonly<Record<string, unknown>>, options: Field['options']): ApiPropertyOptions {
  const { description, example, deprecated } = options;
  const texts = defined({ description, example, deprecated });
  const required = isRequired(options);
  const members = Array.isArray(schema['anyOf']) ? (schema['anyOf'] as readonly object[]) : [];
  const hasNull = members.some((member) => 'type' in member && member.type === 'null');
  const isParameter = hasNull || members.some((member) => 'format' in member);
  const nullable = takesNull(options) && !hasNull && { [NULLABLE_EXTENSION]: true };
  const property = isParameter
    ? // Nest would add a type to a parameter's `anyOf`, unless it is given inside `schema`.
      { ...texts, type: 'string', required, schema: defined({ ...schema, example }), ...nullable }
    : { ...schema, ...texts, required, ...nullable };
  // Nest's types allow only a boolean `exclusiveMinimum`, as in OpenAPI 3.0.
  return property as ApiPropertyOptions;
}

function readField(
  fields: RequestFields,
  name: string,
  options: Field['options'],
  read: Field['read'],
): Outcome {
  const input = fields.find(name);
  if (input === null && takesNull(options)) return null;
  if (input !== undefined) return read(input, fields);
  if (options.default !== undefined) return options.default;
  if (options.absent === 'omitted') return undefined;
  return options.absent === 'null' ? null : missing(fields.inputWhenMissing);
}

export function missing(input: JsonValue): InputMistake {
  return new InputMistake('missing', 'Field required', input);
}

export function notAnObject(input: JsonValue): InputMistake {
  const msg = 'Input should be a valid dictionary or object to extract fields from';
  return new InputMistake('model_attributes_type', msg, input);
}

@ValidatorConstraint()
class NotRefused implements ValidatorConstraintInterface {
  validate(value: unknown): boolean {
    return !(value instanceof InputMistake || value instanceof ItemMistakes);
  }
}

/** Writes a field's title as FastAPI does: `proxy_type` → `Proxy Type`. */
export function titleOf(name: string): string {
  return name.replace(
    /(^|_)([a-z])/g,
    (_, gap: string, letter: string) => (gap && ' ') + letter.toUpperCase(),
  );
}

function defined(schema: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(schema).filter(([, value]) => value !== undefined));
}
