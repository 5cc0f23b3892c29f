import { applyDecorators, type Type } from '@nestjs/common';
import { ApiProperty, type ApiPropertyOptions, getSchemaPath } from '@nestjs/swagger';
import { Expose, Transform } from 'class-transformer';
import { Validate, ValidatorConstraint, type ValidatorConstraintInterface } from 'class-validator';
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
import { refuseLoose, type StrictPlace } from './strict-request';

interface Optional {
  /** The field may be left out, or null, and is null then. */
  readonly optional?: true;
}

export interface IntegerFieldOptions extends Optional {
  readonly atLeast?: number;
  readonly greaterThan?: number;
  readonly atMost?: number;
  readonly default?: number;
}

export interface StringFieldOptions extends Optional {
  /** In code points, as is `maxLength`. */
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly default?: string;
  /** The words of a choice, for the description, where `refuse` does the checking. */
  readonly choices?: readonly string[];
  /** Refuses text within the bounds for what a pattern cannot tell. */
  readonly refuse?: (text: string) => Refusal | undefined;
}

export interface BooleanFieldOptions extends Optional {
  readonly default?: boolean;
}

export interface StringListFieldOptions extends Optional {
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

/** Stands for the value of a field that a request may leave out and that has no default either. */
const LEFT_OUT = Symbol('left out');

type FieldValue = string | number | boolean | null | Money | Date | readonly string[] | object;
type Outcome = FieldValue | Refusal | RefusedItems | undefined;

interface Field {
  /** The field as OpenAPI 3.1 describes it. */
  readonly schema: Readonly<Record<string, unknown>>;
  /** The value of a field that the request leaves out. A field without a fallback is required. */
  readonly fallback: FieldValue | typeof LEFT_OUT | undefined;
  /** @param strict where the field stands when it is read strictly */
  readonly read: (input: JsonValue, strict: StrictPlace | undefined) => Outcome;
}

interface FieldSource {
  readonly obj: RequestFields;
  readonly key: string;
}

/** An integer. Required unless it has a default. */
export function IntegerField(options: IntegerFieldOptions = {}): PropertyDecorator {
  const { atLeast, greaterThan, atMost, optional, default: fallback = absent(optional) } = options;
  return requestField({
    schema: defined({
      type: 'integer',
      minimum: atLeast,
      maximum: atMost,
      exclusiveMinimum: greaterThan,
      default: options.default,
    }),
    fallback,
    read: (input) => readInteger(input, options),
  });
}

/** Text. Required unless it has a default. */
export function StringField(options: StringFieldOptions = {}): PropertyDecorator {
  const { minLength, maxLength, pattern, optional, default: fallback = absent(optional) } = options;
  return requestField({
    schema: defined({
      type: 'string',
      minLength,
      maxLength,
      pattern,
      enum: options.choices ?? wordsOf(pattern),
      default: options.default,
    }),
    fallback,
    read: (input) => {
      const text = readString(input, options);
      return text instanceof Refusal ? text : (options.refuse?.(text) ?? text);
    },
  });
}

/** Text of a query that may be left out. It is null then. */
export function OptionalStringField(
  options: Omit<StringFieldOptions, 'default' | 'choices' | 'refuse'> = {},
): PropertyDecorator {
  return requestField({
    schema: {
      anyOf: [defined({ type: 'string', ...options, enum: wordsOf(options.pattern) }), { type: 'null' }],
    },
    fallback: null,
    read: (input) => readString(input, options),
  });
}

/**
 * Text of a change. It is undefined when the request leaves it out, which leaves it as it is, and null when
 * the request clears it with null.
 */
export function ChangedStringField(
  options: Pick<StringFieldOptions, 'maxLength' | 'pattern'>,
): PropertyDecorator {
  return requestField({
    schema: { oneOf: [{ type: 'string', ...options }, { type: 'null' }] },
    fallback: LEFT_OUT,
    read: (input) => (input === null ? null : readString(input, options)),
  });
}

/** The words of a pattern that is a choice of words, so that the description and Swagger UI offer them. */
const wordsOf = (pattern = ''): readonly string[] | undefined =>
  /^\^\(([\w|-]+)\)\$$/.exec(pattern)?.[1]?.split('|');

/** A boolean. Required unless it has a default. */
export function BooleanField(options: BooleanFieldOptions = {}): PropertyDecorator {
  return requestField({
    schema: defined({ type: 'boolean', default: options.default }),
    fallback: options.default ?? absent(options.optional),
    read: readBoolean,
  });
}

const AMOUNT = { type: 'string', pattern: String.raw`^\d{1,12}(\.\d{1,2})?$` };

/** An amount in roubles, above 0 and with at most two decimals, as text or as a number. Read as a `Money`. */
export function AmountField({ optional }: Optional = {}): PropertyDecorator {
  return requestField({
    schema: AMOUNT,
    fallback: absent(optional),
    read: readAmount,
  });
}

/** An amount like that of {@link AmountField}, or null, which the request has to say. */
export function NullableAmountField(): PropertyDecorator {
  return requestField({
    schema: { oneOf: [AMOUNT, { type: 'null' }] },
    fallback: undefined,
    read: (input) => (input === null ? null : readAmount(input)),
  });
}

/** An ISO 8601 date-time with its offset from UTC. Read as a `Date`. */
export function DateTimeField({ optional }: Optional = {}): PropertyDecorator {
  return requestField({
    schema: { type: 'string', format: 'date-time' },
    fallback: absent(optional),
    read: readDateTime,
  });
}

/** A day such as `2026-11-21`. Read as text. */
export function DateField({ optional }: Optional = {}): PropertyDecorator {
  return requestField({
    schema: { type: 'string', format: 'date' },
    fallback: absent(optional),
    read: readDate,
  });
}

/** An object with a DTO of its own, which the controller has to name in `@ApiExtraModels`. */
export function ObjectField(of: Type<object>, { optional }: Optional = {}): PropertyDecorator {
  return requestField({
    schema: { allOf: [{ $ref: getSchemaPath(of) }] },
    fallback: absent(optional),
    read: (input, strict) => readObject(input, of, strict),
  });
}

/** A list of texts, each of which is checked. */
export function StringListField(options: StringListFieldOptions): PropertyDecorator {
  const { atLeast, atMost, optional, of } = options;
  const items = defined({ type: 'string', enum: of.choices });
  return requestField({
    schema: defined({ type: 'array', items, minItems: atLeast, maxItems: atMost }),
    fallback: absent(optional),
    read: (input) => readStringList(input, options),
  });
}

/** Texts of a change: undefined when the request leaves them out, null when it says null. */
export function ChangedStringListField(options: Omit<StringListFieldOptions, 'optional'>): PropertyDecorator {
  const { atLeast, atMost, of } = options;
  const items = defined({ type: 'string', enum: of.choices });
  return requestField({
    schema: {
      oneOf: [defined({ type: 'array', items, minItems: atLeast, maxItems: atMost }), { type: 'null' }],
    },
    fallback: LEFT_OUT,
    read: (input) => (input === null ? null : readStringList(input, options)),
  });
}

const absent = (optional: true | undefined): null | undefined => (optional ? null : undefined);

function readObject(input: JsonValue, of: Type<object>, strict: StrictPlace | undefined): object {
  if (isJsonObject(input)) return readInstance(of, new RequestFields(input, input, strict));
  return notAnObject(input);
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
function requestField({ schema, fallback, read }: Field): PropertyDecorator {
  const readExactly: Field['read'] = (input, strict) => {
    const value = read(input, strict);
    if (!strict || value instanceof Refusal || value instanceof RefusedItems) return value;
    return refuseLoose(input, schema['type'], strict) ?? value;
  };
  return (target, key) => {
    declareField(target, String(key));
    applyDecorators(
      ApiProperty(describe({ ...schema, title: titleOf(String(key)) }, fallback === undefined)),
      Expose(),
      Transform(({ obj, key: name }: FieldSource) => readField(obj, name, fallback, readExactly), {
        toClassOnly: true,
      }),
      Validate(NotRefused),
    )(target, key);
  };
}

function describe(schema: Readonly<Record<string, unknown>>, required: boolean): ApiPropertyOptions {
  // Nest would add a type to a parameter's `anyOf`, unless it is given inside `schema`.
  const description = 'anyOf' in schema ? { type: 'string', required, schema } : { ...schema, required };
  // Nest's types only know the `exclusiveMinimum` of OpenAPI 3.0, which is a boolean.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return description as ApiPropertyOptions;
}

function readField(
  fields: RequestFields,
  name: string,
  fallback: Field['fallback'],
  read: Field['read'],
): Outcome {
  const input = fields.find(name);
  const isGiven = input !== undefined && !(input === null && fallback === null);
  if (isGiven) return read(input, fields.strict);
  if (fallback === LEFT_OUT) return undefined;
  return fallback === undefined ? missing(fields.inputWhenMissing) : fallback;
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
