import { applyDecorators, type Type } from '@nestjs/common';
import { ApiProperty, type ApiPropertyOptions, getSchemaPath } from '@nestjs/swagger';
import { Expose, Transform } from 'class-transformer';
import type { ValidatorConstraintInterface } from 'class-validator';
import { Validate, ValidatorConstraint } from 'class-validator/cjs/decorator/common/Validate';
import type { Money } from '../../common';
import { isJsonObject, type JsonValue } from '../json/json-value';
import { declareField, readInstance } from './read-instance';
import { readAmount } from './readers/read-amount';
import { readBoolean } from './readers/read-boolean';
import { readDate, readDateTime } from './readers/read-date';
import { readInteger } from './readers/read-integer';
import { readString } from './readers/read-string';
import { Refusal, RefusedItems } from './refusal';
import { RequestFields } from './request-fields';
import { notBoolean, NULLABLE_EXTENSION, refuseLoose } from './strict-request';

/**
 * Whether a field has to be there, and what null means. A field without any of these, and without a default,
 * is required. Where null means nothing it is refused, and the description says so of each field.
 */
export interface Presence {
  /** The field may be omitted or null, and is null then. */
  readonly optional?: true;
  /** The field is one of a change: omitted, it is undefined, and what there is stays. */
  readonly changed?: true;
  /** Null is a value of its own, which clears what there is. */
  readonly nullable?: true;
}

export interface IntegerFieldOptions extends Presence {
  readonly atLeast?: number;
  readonly greaterThan?: number;
  readonly atMost?: number;
  readonly default?: number;
}

export interface StringFieldOptions extends Presence {
  /** In code points, as is `maxLength`. */
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly default?: string;
  /** The words of a choice, described in place of the pattern: some generators fail at both. */
  readonly choices?: readonly string[];
  /** Refuses text within the bounds for what a pattern cannot tell. */
  readonly refuse?: (text: string) => Refusal | undefined;
}

export interface BooleanFieldOptions extends Presence {
  readonly default?: boolean;
}

export interface StringListFieldOptions extends Presence {
  readonly atLeast?: number;
  readonly atMost: number;
  /** What each item has to be, with the type and message of the refusal. */
  readonly of: {
    readonly isValid: (item: string) => boolean;
    readonly type: string;
    readonly msg: string;
    /** The words of a list of words, for the description. */
    readonly choices?: readonly string[];
  };
}

type FieldValue = string | number | boolean | null | Money | Date | readonly string[] | object;
type Outcome = FieldValue | Refusal | RefusedItems | undefined;

interface Field {
  /** The field as OpenAPI 3.1 describes it, except for null. */
  readonly schema: Readonly<Record<string, unknown>>;
  /** The default is the value of a field that is omitted. */
  readonly presence: Presence & { readonly default?: FieldValue };
  readonly read: (input: JsonValue, fields: RequestFields) => Outcome;
}

interface FieldSource {
  readonly obj: RequestFields;
  readonly key: string;
}

/** An integer. Required unless it has a default. */
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
    presence: options,
    read: (input) => readInteger(input, options),
  });
}

/** Text. Required unless it has a default. */
export function StringField(options: StringFieldOptions = {}): PropertyDecorator {
  const { minLength, maxLength, pattern } = options;
  return requestField({
    schema: defined({
      type: 'string',
      minLength,
      maxLength,
      ...(options.choices ? { enum: options.choices } : { pattern }),
      default: options.default,
    }),
    presence: options,
    read: (input) => {
      const text = readString(input, options);
      return text instanceof Refusal ? text : (options.refuse?.(text) ?? text);
    },
  });
}

/** Text of a query that may be omitted, which the description calls null, as the reference does. */
export function OptionalStringField(
  options: Omit<StringFieldOptions, keyof Presence | 'default' | 'choices' | 'refuse'> = {},
): PropertyDecorator {
  return requestField({
    schema: {
      anyOf: [{ type: 'string', ...options }, { type: 'null' }],
    },
    presence: { optional: true },
    read: (input) => readString(input, options),
  });
}

/** A boolean. Required unless it has a default. Only a query is read as leniently as Pydantic reads it. */
export function BooleanField(options: BooleanFieldOptions = {}): PropertyDecorator {
  return requestField({
    schema: defined({ type: 'boolean', default: options.default }),
    presence: options,
    read: (input, { place }) => (place === 'body' ? readExactBoolean(input) : readBoolean(input)),
  });
}

const readExactBoolean = (input: JsonValue): boolean | Refusal =>
  typeof input === 'boolean' ? input : notBoolean(input);

/** Both are described: a generated client, or a proxy that validates, refuses what is not. */
const AMOUNT = [
  { type: 'string', pattern: String.raw`^([1-9]\d{0,11}(\.\d{1,2})?|0\.(0[1-9]|[1-9]\d?))$` },
  { type: 'number', minimum: 0.01, maximum: 999_999_999_999.99 },
];

/** An amount in roubles, above 0 and with at most two decimals, as text or as a number. Read as a `Money`. */
export function AmountField(presence: Presence = {}): PropertyDecorator {
  return requestField({ schema: { anyOf: AMOUNT }, presence, read: readAmount });
}

/** An ISO 8601 date-time with its offset from UTC. Read as a `Date`. */
export function DateTimeField(presence: Presence = {}): PropertyDecorator {
  return requestField({ schema: { type: 'string', format: 'date-time' }, presence, read: readDateTime });
}

/** A day such as `2026-11-21`. Read as text. */
export function DateField(presence: Presence = {}): PropertyDecorator {
  return requestField({ schema: { type: 'string', format: 'date' }, presence, read: readDate });
}

/** An object with a DTO of its own, which the controller has to name in `@ApiExtraModels`. */
export function ObjectField(of: Type<object>, presence: Presence = {}): PropertyDecorator {
  return requestField({
    schema: { allOf: [{ $ref: getSchemaPath(of) }] },
    presence,
    read: (input, fields) =>
      isJsonObject(input) ? readInstance(of, fields.within(input)) : notAnObject(input),
  });
}

/** A list of texts, each of which is checked. */
export function StringListField(options: StringListFieldOptions): PropertyDecorator {
  const { atLeast, atMost, of } = options;
  const items = defined({ type: 'string', enum: of.choices });
  return requestField({
    schema: defined({ type: 'array', items, minItems: atLeast, maxItems: atMost }),
    presence: options,
    read: (input) => readStringList(input, options),
  });
}

function readStringList(
  input: JsonValue,
  { atLeast = 0, atMost, of }: StringListFieldOptions,
): readonly string[] | Refusal | RefusedItems {
  if (!Array.isArray(input)) return new Refusal('list_type', 'Input should be a valid list', input);
  const items: readonly JsonValue[] = input;
  const size = `item${atLeast === 1 ? '' : 's'} after validation, not ${items.length}`;
  if (items.length < atLeast) {
    const ctx = { field_type: 'List', min_length: atLeast, actual_length: items.length };
    return new Refusal('too_short', `List should have at least ${atLeast} ${size}`, input, ctx);
  }
  if (items.length > atMost) {
    const ctx = { field_type: 'List', max_length: atMost, actual_length: items.length };
    return new Refusal('too_long', `List should have at most ${atMost} ${size}`, input, ctx);
  }
  const read = items.map((item) => {
    const text = readString(item, { maxLength: 1000 });
    return text instanceof Refusal || of.isValid(text) ? text : new Refusal(of.type, of.msg, item);
  });
  const refused = read.flatMap((item, n): [number, Refusal][] =>
    item instanceof Refusal ? [[n, item]] : [],
  );
  return refused.length > 0 ? new RefusedItems(refused) : read.filter((item) => typeof item === 'string');
}

/**
 * Declares a field to three libraries at once: class-transformer reads it, to its value or to a Refusal,
 * class-validator collects the refusals in the order of declaration, and Swagger describes it.
 */
function requestField({ schema, presence, read }: Field): PropertyDecorator {
  const readExactly: Field['read'] = (input, fields) => {
    const value = read(input, fields);
    if (!fields.strict || value instanceof Refusal || value instanceof RefusedItems) return value;
    return refuseLoose(input, schema['type'], fields.strict) ?? value;
  };
  return (target, key) => {
    declareField(target, String(key));
    applyDecorators(
      ApiProperty(describe({ ...schema, title: titleOf(String(key)) }, presence)),
      Expose(),
      Transform(({ obj, key: name }: FieldSource) => readField(obj, name, presence, readExactly), {
        toClassOnly: true,
      }),
      Validate(NotRefused),
    )(target, key);
  };
}

const takesNull = ({ optional, nullable }: Presence): boolean => (optional ?? nullable) === true;

function describe(
  schema: Readonly<Record<string, unknown>>,
  presence: Field['presence'],
): ApiPropertyOptions {
  const required = presence.default === undefined && !presence.optional && !presence.changed;
  const members = Array.isArray(schema['anyOf']) ? (schema['anyOf'] as readonly object[]) : [];
  const isParameter = members.some((member) => 'type' in member && member.type === 'null');
  const description = isParameter
    ? // Nest would add a type to a parameter's `anyOf`, unless it is given inside `schema`.
      { type: 'string', required, schema }
    : { ...schema, required, ...(takesNull(presence) && { [NULLABLE_EXTENSION]: true }) };
  // Nest's types only know the `exclusiveMinimum` of OpenAPI 3.0, which is a boolean.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return description as ApiPropertyOptions;
}

function readField(
  fields: RequestFields,
  name: string,
  presence: Field['presence'],
  read: Field['read'],
): Outcome {
  const input = fields.find(name);
  if (input === null && takesNull(presence)) return null;
  if (input !== undefined) return read(input, fields);
  if (presence.default !== undefined) return presence.default;
  if (presence.changed) return undefined;
  return presence.optional ? null : missing(fields.inputWhenMissing);
}

export function missing(input: JsonValue): Refusal {
  return new Refusal('missing', 'Field required', input);
}

export function notAnObject(input: JsonValue): Refusal {
  const msg = 'Input should be a valid dictionary or object to extract fields from';
  return new Refusal('model_attributes_type', msg, input);
}

@ValidatorConstraint()
class NotRefused implements ValidatorConstraintInterface {
  validate(value: unknown): boolean {
    return !(value instanceof Refusal || value instanceof RefusedItems);
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
