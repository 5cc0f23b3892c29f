import { DataSource, type EntityManager, QueryFailedError } from 'typeorm';
import { retryUndone } from './retry-undone';

/** Runs a single statement (a data source) or one in a transaction (its manager). */
export type Queryable = Pick<DataSource | EntityManager, 'query'>;

/**
 * Runs a statement and returns its rows. For an UPDATE or DELETE, TypeORM returns `[rows, count]`, otherwise
 * the rows. A single statement that deadlocks is retried.
 */
export async function queryRows<Row>(
  dataSource: Queryable,
  statement: string,
  parameters: readonly unknown[] = [],
): Promise<Row[]> {
  const run = () => dataSource.query<Row[] | [Row[], number]>(statement, [...parameters]);
  const response = await (dataSource instanceof DataSource ? retryUndone(run) : run());
  return Array.isArray(response[0]) ? response[0] : (response as Row[]);
}

/** The row of a statement that always returns one: an aggregate, or an INSERT. */
export const queryRow = async <Row>(
  queryable: Queryable,
  statement: string,
  parameters: readonly unknown[] = [],
): Promise<Row> => theRow(await queryRows<Row>(queryable, statement, parameters), statement);

/** @throws Error that names the statement, which contains no values */
export function theRow<Row>([row]: readonly Row[], statement: string): Row {
  if (row === undefined) throw new Error(`a statement returned no row: ${statement.trim().slice(0, 200)}`);
  return row;
}

/** Formats constants of the code as a list for a check constraint: `('http', 'socks')`. Does not escape. */
export const sqlList = (words: readonly string[]): string =>
  `(${words.map((word) => `'${word}'`).join(', ')})`;

/** The name of a column: `userId` is `user_id`. */
export const snakeCase = (name: string): string =>
  name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** Selects columns under the names of their properties: `id, proxy_type AS "proxyType"`. */
export const selectList = (properties: readonly string[]): string =>
  properties.map((name) => (snakeCase(name) === name ? name : `${snakeCase(name)} AS "${name}"`)).join(', ');

/** The database's time, for comparisons between replicas: their own clocks differ. */
export async function databaseTime(dataSource: Queryable): Promise<Date> {
  const row = await queryRow<{ now: Date }>(dataSource, 'SELECT clock_timestamp() AS now');
  return row.now;
}

export const hasSqlState = (error: unknown, code: string): boolean =>
  error instanceof QueryFailedError && (error.driverError as { code?: string }).code === code;

/** The name of the constraint that refused a statement; undefined if it failed for another reason. */
export function violatedConstraint(error: unknown): string | undefined {
  if (!(error instanceof QueryFailedError)) return undefined;
  const { code, constraint } = error.driverError as { code?: string; constraint?: string };
  return code?.startsWith('23') ? constraint : undefined;
}

/** Whether the database refused the values of a statement, or a constraint did: a retry would fail, too. */
export const isRefusedData = (error: unknown): boolean => /^2[23]/.test(sqlStateOf(error));

/** Empty if the database did not refuse the statement. */
export const sqlStateOf = (error: unknown): string =>
  (error instanceof QueryFailedError && (error.driverError as { code?: string }).code) || '';

/** A number of a statement, or a sum of it, is too large for its column: for `refusedBy`. */
export const OUT_OF_RANGE = '22003';

/**
 * Runs a statement, and throws a refusal where a constraint refuses it.
 *
 * @param refusals by the names of the constraints, or by an SQLSTATE
 */
export async function refusedBy<Result>(
  refusals: Readonly<Record<string, new () => Error>>,
  statement: () => Promise<Result>,
): Promise<Result> {
  try {
    return await statement();
  } catch (error) {
    const Refusal = refusals[violatedConstraint(error) ?? sqlStateOf(error)];
    throw Refusal ? new Refusal() : error;
  }
}

/**
 * SQLSTATEs of a lost session: connection exception, operator intervention (shutdown, crash), and a
 * transaction that was idle or took too long.
 */
const SESSION_LOST = /^(08|57P|25P0[34])/;

/**
 * Whether a failed statement may have been committed, or still may be: it was sent, and its connection ended
 * before the response. Such a failure is no refusal, so use `resolveCommitOutcome` before reporting it.
 */
export function mayHaveCommitted(error: unknown): boolean {
  return error instanceof QueryFailedError && isSessionLost(error.driverError);
}

/** Whether pg failed without a response to the statement, or because the session ended. */
export function isSessionLost(error: unknown): boolean {
  const { code } = error as { code?: string };
  return code === undefined || !/^[0-9A-Z]{5}$/.test(code) || SESSION_LOST.test(code);
}

/**
 * COMMIT was sent without a response, so either all of the work is done or none. Read the database to find
 * out.
 */
export class TransactionOutcomeUnknown extends Error {
  constructor(cause: unknown) {
    super('it is not known whether a transaction was committed', { cause });
    this.name = TransactionOutcomeUnknown.name;
  }
}

/**
 * System and PostgreSQL codes of a server that refuses, is full, is stopping, is too slow, or is no longer
 * the primary.
 */
const UNAVAILABLE = /^(ECONN|ETIMEDOUT|EPIPE|EHOST|ENETUNREACH|ENOTFOUND|EAI_AGAIN|08|25006|53|57|55P03)/;

/** Whether an error comes from the state of the database rather than from the request or the code. */
export function isDatabaseUnavailable(error: unknown): boolean {
  if (mayHaveCommitted(error) || error instanceof TransactionOutcomeUnknown) return true;
  const cause = error instanceof QueryFailedError ? (error.driverError as unknown) : error;
  if (typeof cause !== 'object' || cause === null) return false;
  if ('code' in cause && UNAVAILABLE.test(String(cause.code))) return true;
  // pg-pool sets no code if no connection becomes free in time.
  return (
    'message' in cause &&
    /timeout exceeded when trying to connect|Connection terminated/.test(String(cause.message))
  );
}
