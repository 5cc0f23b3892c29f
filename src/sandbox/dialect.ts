/** Reads one setting of the dialect, from the control interface or from the command line. */
interface Setting<Value> {
  readonly default: Value;
  /** Gives undefined for a value that the setting does not have. */
  read(value: unknown): Value | undefined;
  /** Completes the sentence "must be …". */
  readonly rule: string;
}

function choice<const Value extends string>(first: Value, ...others: Value[]): Setting<Value> {
  const values = [first, ...others];
  return {
    default: first,
    read: (value) => values.find((each) => each === value),
    rule: `one of ${values.join(', ')}`,
  };
}

function integer(defaultValue: number, min: number, max: number): Setting<number> {
  return {
    default: defaultValue,
    read: (value) => {
      const number = typeof value === 'string' && /^\d{1,9}$/.test(value) ? Number(value) : value;
      const isGood = typeof number === 'number' && Number.isInteger(number) && number >= min && number <= max;
      return isGood ? number : undefined;
    },
    rule: `an integer from ${min} to ${max}`,
  };
}

/**
 * What the provider's documentation leaves open, or what its years and mirrors do differently. Each setting
 * is independent of the others; the defaults are what the published interface says.
 */
const SETTINGS = {
  /** Which comments `getproxy?descr=…` finds. */
  descrFilter: choice('exact', 'prefix', 'substring', 'ignored'),
  /** The most proxies on a page of getproxy, whatever `limit` asks for. */
  pageLimit: integer(1000, 1, 1000),
  /**
   * The order of getproxy: by id, an order of its own, or one that begins at another proxy with each
   * request, so that a proxy can be on two pages or on none.
   */
  pageOrder: choice('sorted', 'unsorted', 'moving'),
  /** The year of the published interface, whose answers have other fields. */
  form: choice('2025', '2023'),
  /** How numbers are written: as published, which differs by field and method, or all in one way. */
  numbers: choice('published', 'strings', 'numbers'),
};

export type Dialect = {
  readonly [Name in keyof typeof SETTINGS]: (typeof SETTINGS)[Name] extends Setting<infer Value>
    ? Value
    : never;
};

/** A name or a value that no setting has. */
export class DialectError extends Error {}

/** @throws DialectError */
export function readDialect(values: Readonly<Record<string, unknown>>): Partial<Dialect> {
  const names = Object.keys(SETTINGS);
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => {
      const setting = Object.entries<Setting<unknown>>(SETTINGS).find(([each]) => each === name)?.[1];
      if (!setting) throw new DialectError(`Unknown setting ${name}; known: ${names.join(', ')}`);
      const read = setting.read(value);
      if (read === undefined) throw new DialectError(`${name} must be ${setting.rule}`);
      return [name, read];
    }),
  );
}

const defaults = Object.entries(SETTINGS).map(([name, setting]) => [name, setting.default]);
// The keys and values are those of the settings.
export const DEFAULT_DIALECT: Dialect = Object.fromEntries(defaults);
