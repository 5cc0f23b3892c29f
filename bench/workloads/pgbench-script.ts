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
  /** Only where the statement places or settles the order, ids inside texts are substituted. */
  readonly places: boolean;
  readonly settles: boolean;
}

/**
 * Advisory lock of the claim: in the service one dispatcher claims orders, while every pgbench client does.
 */
const CLAIM_LOCK = 63_100;

const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;
const QUOTED_UUID = /"[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}"/g;
const LISTENS = /^\s*LISTEN\b/;
const PLACES = /\bplace_orders\(/;
/** Whose accounts another statement locks are asked again later by the service; pgbench waits. */
const PATIENCE_PLACE = '4';
const CLAIMS = /SKIP LOCKED/;
const SETTLES = /INSERT INTO ledger_entries\b/;
/** Placeholders inside literals, replaced by SQL functions. */
const NUMBERS = 'BENCH';
const ORDER = 'ORDER';
const USER = 'USER';
const PROXY = 'PROXY';
const UNIQUE = 'UNIQUE';

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
  let order = ':placed_id::bigint';
  const sent = statements.filter(({ text }) => !LISTENS.test(text));
  const lines = sent.map(({ text, parameters }) => {
    const its = { ...recorded, order, places: PLACES.test(text), settles: SETTLES.test(text) };
    const inlined = withoutComments(text).replaceAll(/\$(\d+)/g, (_, place: string) =>
      its.places && place === PATIENCE_PLACE ? 'NULL' : toExpression(parameters[Number(place) - 1], its),
    );
    if (its.places) return `${inlined}\n\\gset placed_`;
    if (CLAIMS.test(text)) {
      // It may be another client's order: one is claimed for each that is placed.
      order = ':claimed_groupId::bigint';
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
  const areAll = (id: number): boolean =>
    values.length > 0 && values.every((value) => textOf(value) === String(id));
  if (areAll(recorded.orderId)) return `ARRAY[${recorded.order}]::bigint[]`;
  if (areAll(recorded.userId)) return 'ARRAY[:user]::bigint[]';
  const items = values.map((value) => {
    if (value === null) return 'NULL';
    return `"${textOf(value).replaceAll(/["\\]/g, String.raw`\$&`)}"`;
  });
  const expression = textExpression(`{${items.join(',')}}`, recorded);
  return expression.startsWith("'") ? expression : `(${expression})::text[]`;
}

function textExpression(text: string, recorded: Substitution): string {
  if (recorded.places) return placedExpression(text, recorded);
  if (recorded.settles) return settledExpression(text, recorded);
  return literal(text);
}

/** In a settling statement, the provider's ids and the order's id inside JSON are substituted in the text. */
function settledExpression(text: string, { providerProxyIds, orderId, order }: Substitution): string {
  let made = text;
  for (const [place, id] of [...providerProxyIds.entries()].toReversed()) {
    made = made.replaceAll(`"${id}"`, `"${NUMBERS}-${place}"`);
  }
  made = made.replaceAll(new RegExp(`"order_?id": ?"?${orderId}\\b"?`, 'gi'), `"order_id": "${ORDER}"`);
  return replaced(made, [
    [NUMBERS, `"${NUMBERS}-`, "nextval('bench_numbers')"],
    [ORDER, `"${ORDER}"`, order],
  ]);
}

/** What is placed is JSON: its user, its proxy, and what no other order may have. */
function placedExpression(text: string, { userId, proxyId }: Substitution): string {
  const made = text
    .replaceAll(`"user_id":${userId},`, `"user_id":"${USER}",`)
    .replaceAll(`"proxy_id":${proxyId ?? 'none'},`, `"proxy_id":"${PROXY}",`)
    .replaceAll(QUOTED_UUID, `"${UNIQUE}"`);
  const expression = replaced(made, [
    [USER, `"${USER}"`, ':user'],
    [PROXY, `"${PROXY}"`, ':proxy'],
    [UNIQUE, `"${UNIQUE}"`, 'gen_random_uuid()'],
  ]);
  return expression.startsWith("'") ? expression : `(${expression})::jsonb`;
}

/** @param marks what is replaced, how it is recognized, and the SQL expression that it becomes */
const replaced = (text: string, marks: readonly (readonly [string, string, string])[]): string =>
  marks
    .filter(([, sign]) => text.includes(sign))
    .reduce((made, [mark, , value]) => `replace(${made}, '${mark}', ${value}::text)`, literal(text));

/** pgbench substitutes `:name` even inside quotes, so a space separates them. */
const literal = (text: string): string =>
  `'${text.replaceAll("'", "''").replaceAll(/:(?=[A-Za-z_])/g, ': ')}'`;
