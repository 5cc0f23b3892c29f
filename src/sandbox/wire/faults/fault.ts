import { z } from 'zod';
import { WIRE_METHOD_NAMES, type WireMethodName } from '../methods/wire-methods';
import { WIRE_ERRORS, type WireErrorId } from '../wire-error';

/**
 * Kinds of faults, and whether the call takes effect unless the fault's `effect` says otherwise. `always`
 * marks faults that send the call's own response, which does not exist without the effect.
 */
export const FAULT_KINDS = {
  /** Closes the connection instead of responding. */
  'response-lost': true,
  /** Resets the connection instead of responding. */
  reset: false,
  /** Never responds. */
  hang: true,
  /** Sends the regular response, delayed by `beforeMs` and `afterMs`. */
  late: 'always',
  /** Sends HTTP `status` with a plain text. */
  'http-status': false,
  /** Sends `"status":"no"` with `errorId`. */
  error: false,
  /** Sends HTTP 200 with a web page. */
  html: false,
  /** Sends HTTP 200 with half of the JSON. With `disconnect`, Content-Length promises all of it. */
  'truncated-json': 'always',
  /** Sends the response in pieces of `bytes`, one every `intervalMs`. */
  drip: 'always',
  /** Confirms the requested count, but delivers and charges `shortBy` fewer. */
  'short-list': 'always',
  /** Sends the regular response, but getproxy does not show the effect for `hiddenForMs`. */
  'late-listing': 'always',
  /** Sends the response with `currency` as its currency. */
  'wrong-currency': 'always',
  /** Sends the regular response with `changes`. */
  altered: 'always',
} as const;

const KINDS = Object.keys(FAULT_KINDS) as (keyof typeof FAULT_KINDS)[];
const ERROR_IDS = Object.keys(WIRE_ERRORS).map(Number) as WireErrorId[];
const ONE_DAY_MS = 86_400_000;

export const delaySchema = z.int().min(0).max(ONE_DAY_MS);
export const methodSchema = z.enum([...WIRE_METHOD_NAMES, 'any']);

/** Selects requests. A `*` at the end or the start of a value matches any text there. */
export const filterSchema = z.strictObject({
  method: methodSchema,
  match: z.record(z.string(), z.string()).default({}),
});

/**
 * Sets the value at a path of a response, such as `["list", "31250001", "pass"]`, or removes it if there is
 * no value. `*` matches each name. A new id adds a row to a list. A path below a missing field changes
 * nothing.
 */
const changeSchema = z.strictObject({
  path: z.array(z.string()).min(1),
  value: z.json().optional(),
});

/** Fault as a client defines it. Delays, `shortBy` and `hiddenForMs` combine with every kind. */
const faultSchema = filterSchema
  .extend({
    kind: z.enum(KINDS),
    /** Maximum number of hits; `null` for no limit. */
    times: z.int().min(1).nullable().default(1),
    /** Probability of hitting a matching request. */
    probability: z.number().min(0).max(1).default(1),
    /** Seed of the random draws, so that a run is reproducible. Default: the fault's id. */
    seed: z.int().min(0).optional(),
    /** Whether the call takes effect. Default: that of the kind. */
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

/**
 * Changes the fields of a response. `list_count` is the size of the changed list, unless it is changed
 * itself.
 */
export function alter(fields: Record<string, unknown>, { changes }: Fault): Record<string, unknown> {
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

/** A fault as a client defines it. */
export type FaultSpec = z.input<typeof faultSchema>;

/** A fault with all defaults. */
export type Fault = Readonly<z.output<typeof faultSchema>> & { readonly id: number; readonly seed: number };

/** Reads a fault. @throws ZodError when it is no {@link FaultSpec} */
export function readFault(id: number, spec: unknown): Fault {
  const fault = faultSchema.parse(spec);
  return { ...fault, id, seed: fault.seed ?? id };
}
