import { z } from 'zod';
import { WIRE_METHOD_NAMES, type WireMethodName } from '../methods/wire-methods';
import { WIRE_ERRORS, type WireErrorId } from '../wire-error';

/** Whether a call takes effect by default. `always` cannot be turned off: the regular response is sent. */
export const FAULT_KINDS = {
  'response-lost': true,
  reset: false,
  hang: true,
  /** Delays the regular response by `beforeMs` and `afterMs`. */
  late: 'always',
  'http-status': false,
  error: false,
  html: false,
  /** Sends only half of the JSON. With `disconnect`, Content-Length is still the length of the whole JSON. */
  'truncated-json': 'always',
  /** Sends the response in pieces of `bytes`, one every `intervalMs`. */
  drip: 'always',
  /** Confirms the requested count, but delivers and charges `shortBy` fewer proxies. */
  'short-list': 'always',
  /** Hides the effect from getproxy for `hiddenForMs`. */
  'late-listing': 'always',
  'wrong-currency': 'always',
  altered: 'always',
} as const;

const KINDS = Object.keys(FAULT_KINDS) as (keyof typeof FAULT_KINDS)[];
const ERROR_IDS = Object.keys(WIRE_ERRORS).map(Number) as WireErrorId[];
const ONE_DAY_MS = 86_400_000;

export const delaySchema = z.int().min(0).max(ONE_DAY_MS);
export const methodSchema = z.enum([...WIRE_METHOD_NAMES, 'any']);

/** A `*` at the start or end of a `match` value stands for any characters. */
export const filterSchema = z.strictObject({
  method: methodSchema,
  match: z.record(z.string(), z.string()).default({}),
});

/**
 * Sets the value at a path, such as `["list", "31250001", "pass"]`, or removes it if no value is given. In a
 * path, `*` matches any name. If an array has no such index, the value is appended to it.
 */
const changeSchema = z.strictObject({
  path: z.array(z.string()).min(1),
  value: z.json().optional(),
});

/** Delays, `shortBy` and `hiddenForMs` can be combined with every kind. */
const faultSchema = filterSchema
  .extend({
    kind: z.enum(KINDS),
    /** `null` for no limit. */
    times: z.int().min(1).nullable().default(1),
    probability: z.number().min(0).max(1).default(1),
    /** Makes the random draws reproducible. Default: the fault's id. */
    seed: z.int().min(0).optional(),
    /** Defaults to the kind's effect. */
    effect: z.boolean().optional(),
    beforeMs: delaySchema.default(0),
    afterMs: delaySchema.default(0),
    shortBy: z.int().min(1).optional(),
    hiddenForMs: z.int().min(1).optional(),
    status: z.int().min(400).max(599).default(502),
    errorId: z.literal(ERROR_IDS).default(30),
    disconnect: z.boolean().default(false),
    bytes: z.int().min(1).default(16),
    intervalMs: delaySchema.default(100),
    currency: z.string().min(1).default('USD'),
    changes: z.array(changeSchema).default([]),
  })
  .refine(({ kind, effect }) => effect !== false || FAULT_KINDS[kind] !== 'always', {
    path: ['effect'],
    error: 'this kind always has its effect',
  })
  .transform(({ kind, effect, shortBy, hiddenForMs, ...fault }) => ({
    ...fault,
    kind,
    effect: effect ?? FAULT_KINDS[kind] !== false,
    shortBy: shortBy ?? (kind === 'short-list' ? 1 : 0),
    hiddenForMs: hiddenForMs ?? (kind === 'late-listing' ? 5000 : 0),
  }));

/** Updates `list_count` after a change to the list, unless the fault itself changes `list_count`. */
export function applyFault(fields: Record<string, unknown>, { changes }: Fault): Record<string, unknown> {
  const altered = structuredClone(fields);
  for (const { path, value } of changes) set(altered, path, value);
  if (!('list_count' in fields) || changes.some(({ path }) => path[0] === 'list_count')) return altered;
  return { ...altered, list_count: Object.keys(Object(altered['list'])).length };
}

function set(parent: unknown, [name = '', ...rest]: readonly string[], value: unknown): void {
  if (typeof parent !== 'object' || parent === null) return;
  for (const key of name === '*' ? Object.keys(parent) : [name]) {
    if (rest.length > 0) set(Reflect.get(parent, key), rest, value);
    else if (Array.isArray(parent) && !(key in parent)) parent.push(value);
    else if (value === undefined) Reflect.deleteProperty(parent, key);
    else Object.assign(parent, { [key]: value });
  }
}

type RequestFilter = z.input<typeof filterSchema>;

export function appliesTo(
  filter: RequestFilter,
  method: WireMethodName,
  parameters: Record<string, string>,
): boolean {
  if (filter.method !== 'any' && filter.method !== method) return false;
  return Object.entries(filter.match ?? {}).every(([name, wanted]) => {
    const value = parameters[name];
    if (value === undefined) return false;
    const [text, isPrefix, isSuffix] = [
      wanted.replaceAll('*', ''),
      wanted.endsWith('*'),
      wanted.startsWith('*'),
    ];
    if (isPrefix && isSuffix) return value.includes(text);
    if (isSuffix) return value.endsWith(text);
    return isPrefix ? value.startsWith(text) : value === text;
  });
}

export type FaultSpec = z.input<typeof faultSchema>;

export type Fault = Readonly<z.output<typeof faultSchema>> & { readonly id: number; readonly seed: number };

/** @throws ZodError */
export function readFault(id: number, spec: unknown): Fault {
  const fault = faultSchema.parse(spec);
  return { ...fault, id, seed: fault.seed ?? id };
}
