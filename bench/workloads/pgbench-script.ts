import type { SentStatement } from '../support/statement-plans';

/** What in a recorded order was its own, and is another's each time. */
export interface RecordedOrder {
  readonly orderId: number;
  readonly userId: number;
  /** Of the proxy that is prolonged. */
  readonly proxyId: number | null;
  /** The provider's numbers of what was bought. */
  readonly providerProxyIds: readonly string[];
}

interface Replaced extends RecordedOrder {
  /** What stands for the order's number. */
  readonly order: string;
  /** Whether the statement moves money: others keep what they were told. */
  readonly settles: boolean;
}

/** Taken by whoever claims the next orders: the service's replica does it by itself, pgbench's clients stand in for many requests. */
const CLAIM_LOCK = 63_100;

const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;
const PLACES = /INSERT INTO orders\b/;
const CLAIMS = /SKIP LOCKED/;
const SETTLES = /INSERT INTO ledger_entries\b/;
/** Stand in literals for what a function puts there. */
const NUMBERS = 'BENCH';
const ORDER = 'ORDER';

/**
 * The statements of one order, as the service sent them, as a script for pgbench: values that were the order's own become variables,
 * all others stand as they were. Each statement is committed by itself, as the service does.
 *
 * @param choose sets `user`, and `proxy` for a prolongation
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
      // Whose order it is does not matter: one is claimed for each that is placed.
      order = ':claimed_groupId';
      return `SELECT pg_advisory_lock(${CLAIM_LOCK});\n${inlined}\n\\gset claimed_\nSELECT pg_advisory_unlock(${CLAIM_LOCK});`;
    }
    return `${inlined};`;
  });
  return `${choose}\n${lines.join('\n')}\n`;
}

const withoutComments = (statement: string): string =>
  statement.replaceAll(/--.*$/gm, '').replace(/;\s*$/, '').trim();

/** As a literal without a type, like a parameter; or what makes it. */
function toExpression(value: unknown, recorded: Replaced): string {
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

/** As pg sends it. */
function textOf(value: unknown): string {
  if (value instanceof Date) return value.toISOString();
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function arrayExpression(values: readonly unknown[], recorded: Replaced): string {
  const isOrders = values.length > 0 && values.every((value) => textOf(value) === String(recorded.orderId));
  if (isOrders) return `ARRAY[${recorded.order}]::bigint[]`;
  const items = values.map((value) => {
    if (value === null) return 'NULL';
    return `"${textOf(value).replaceAll(/["\\]/g, String.raw`\$&`)}"`;
  });
  const expression = textExpression(`{${items.join(',')}}`, recorded);
  return expression.startsWith("'") ? expression : `(${expression})::text[]`;
}

/** Of a statement that settles an order: numbers of the provider's, and of the order in JSON, are replaced in the text. */
function textExpression(text: string, { providerProxyIds, orderId, order, settles }: Replaced): string {
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

/** pgbench takes a name behind a colon for a variable, in quotes too. */
const literal = (text: string): string =>
  `'${text.replaceAll("'", "''").replaceAll(/:(?=[A-Za-z_])/g, ': ')}'`;
