/** Words of payments: scopes and types of events. */
const WORD = String.raw`deposits?[.:][a-z]+`;
const IS_WORD = new RegExp(`^${WORD}$`);
/** Such words in a list that is written as a text. */
const IN_TEXT = new RegExp(`, ([\`'])${WORD}\\1`, 'g');
/** Fields of payments, in schemas and in examples. */
const FIELDS: readonly string[] = ['deposit_id', 'deposits'];

type Json = unknown;

/**
 * The description without the words of payments, for a service that accepts none. Routes of payments do not
 * exist there, so only words in other routes are removed.
 */
export function withoutPayments<Described extends object>(description: Described): Described {
  return clean(description) as Described;
}

function clean(value: Json): Json {
  if (typeof value === 'string') return value.replace(IN_TEXT, '');
  if (Array.isArray(value)) return value.filter((item) => !isHidden(item)).map(clean);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(([name]) => !FIELDS.includes(name));
  const cleaned = Object.fromEntries(entries.map(([name, one]) => [name, clean(one)]));
  return { ...cleaned, ...shortened(value, cleaned) };
}

const isHidden = (item: Json): boolean =>
  typeof item === 'string' && (IS_WORD.test(item) || FIELDS.includes(item));

interface Schema {
  readonly items?: { readonly enum?: readonly unknown[] };
  readonly maxItems?: number;
}

/** A list of words that may have as many items as there are words. */
function shortened(before: Schema, after: Schema): Schema {
  const words = before.items?.enum?.length;
  const left = after.items?.enum?.length;
  return words !== undefined && left !== undefined && before.maxItems === words ? { maxItems: left } : {};
}
