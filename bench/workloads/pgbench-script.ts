import type { SentStatement } from '../support/statement-plans';

/** Values of a recorded order that differ for every order. */
export interface RecordedOrder {
  readonly orderId: number;
  readonly userId: number;
  /** The prolonged proxy; null for a purchase. */
  readonly proxyId: number | null;
  /** The provider's ids of the bought proxies. */
  readonly providerProxyIds: readonly string[];
}

interface Substitution extends RecordedOrder {
  /** The pgbench variable that stands for the order's id. */
  readonly order: string;
  /** Whether the statement settles the order; only then ids inside texts are substituted. */
  readonly settles: boolean;
}

/**
 * Advisory lock of the claim: in the service one dispatcher claims orders, while every pgbench client does.
 */
const CLAIM_LOCK = 63_100;

const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;
const PLACES = /INSERT INTO orders\b/;
const CLAIMS = /SKIP LOCKED/;
const SETTLES = /INSERT INTO ledger_entries\b/;
/** Placeholders inside literals, replaced by SQL functions. */
const NUMBERS = 'BENCH';
const ORDER = 'ORDER';

/**
 * Turns the recorded statements of one order into a pgbench script: values specific to the order become
 * variables, all others stay. Each statement is committed by itself, as in the service.
 *
 * @param choose commands that set `user`, and for a prolongation `proxy`
 */
export function toPgbenchScript(
  statements: readonly SentStatement[],
  recorded: RecordedOrder,
  choose: string,
): string {
  let order = ':placed_id';
  const lines = statements.map(({ text, parameters }) => {
    const inlined = withoutComments(text).replaceAll(/\$(\d+)/g, (_, place: string) =>
      toExpression(parameters[Number(place) - 1], { ...recorded, order, settles: SETTLES.test(text) }),
    );
    if (PLACES.test(text)) return `${inlined}\n\\gset placed_`;
    if (CLAIMS.test(text)) {
      // It may be another client's order: one is claimed for each that is placed.
      order = ':claimed_groupId';
      return [
        `SELECT pg_advisory_lock(${CLAIM_LOCK});`,
        `${inlined}\n\\gset claimed_`,
        `SELECT pg_advisory_unlock(${CLAIM_LOCK});`,
      ].join('\n');
    }
    return `${inlined};`;
  });
  return `${choose}\n${lines.join('\n')}\n`;
}

const withoutComments = (statement: string): string =>
  statement.replaceAll(/--.*$/gm, '').replace(/;\s*$/, '').trim();

/** An untyped literal, like a parameter, or an expression that produces the value. */
function toExpression(value: unknown, recorded: Substitution): string {
  if (value === null || value === undefined) return 'NULL';
  if (Buffer.isBuffer(value)) return `'\\x${value.toString('hex')}'`;
  if (Array.isArray(value)) return arrayExpression(value, recorded);
  const text = textOf(value);
  if (text === String(recorded.orderId)) return recorded.order;
  if (text === String(recorded.userId)) return ':user';
  if (recorded.proxyId !== null && text === String(recorded.proxyId)) return ':proxy';
  if (UUID.test(text)) return 'gen_random_uuid()';
  return textExpression(text, recorded);
}

/** The text form in which pg sends a value. */
function textOf(value: unknown): string {
  if (value instanceof Date) return value.toISOString();
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function arrayExpression(values: readonly unknown[], recorded: Substitution): string {
  const isOrders = values.length > 0 && values.every((value) => textOf(value) === String(recorded.orderId));
  if (isOrders) return `ARRAY[${recorded.order}]::bigint[]`;
  const items = values.map((value) => {
    if (value === null) return 'NULL';
    return `"${textOf(value).replaceAll(/["\\]/g, String.raw`\$&`)}"`;
  });
  const expression = textExpression(`{${items.join(',')}}`, recorded);
  return expression.startsWith("'") ? expression : `(${expression})::text[]`;
}

/** In a settling statement, the provider's ids and the order's id inside JSON are substituted in the text. */
function textExpression(text: string, { providerProxyIds, orderId, order, settles }: Substitution): string {
  if (!settles) return literal(text);
  let made = text;
  for (const [place, id] of [...providerProxyIds.entries()].toReversed()) {
    made = made.replaceAll(`"${id}"`, `"${NUMBERS}-${place}"`);
  }
  made = made.replaceAll(new RegExp(`"order_?id": ?"?${orderId}\\b"?`, 'gi'), `"order_id": "${ORDER}"`);
  let expression = literal(made);
  if (made.includes(`"${NUMBERS}-`)) {
    expression = `replace(${expression}, '${NUMBERS}', nextval('bench_numbers')::text)`;
  }
  if (made.includes(`"${ORDER}"`)) expression = `replace(${expression}, '${ORDER}', ${order}::text)`;
  return expression;
}

/** pgbench substitutes `:name` even inside quotes, so a space separates them. */
const literal = (text: string): string =>
  `'${text.replaceAll("'", "''").replaceAll(/:(?=[A-Za-z_])/g, ': ')}'`;
