import { DataSource, type EntityManager, QueryFailedError } from 'typeorm';
import { retryUndone } from './retry-undone';

/** A data source runs each statement in its own transaction; a manager runs all in one. */
export type Queryable = Pick<DataSource | EntityManager, 'query'>;

/** Retries a statement after a deadlock, unless it runs inside a transaction. */
export async function queryRows<Row>(
  dataSource: Queryable,
  statement: string,
  parameters: readonly unknown[] = [],
): Promise<Row[]> {
  const run = () => dataSource.query<Row[] | [Row[], number]>(statement, [...parameters]);
  const response = await (dataSource instanceof DataSource ? retryUndone(run) : run());
  return Array.isArray(response[0]) ? response[0] : (response as Row[]);
}

export const queryRow = async <Row>(
  queryable: Queryable,
  statement: string,
  parameters: readonly unknown[] = [],
): Promise<Row> => requireRow(await queryRows<Row>(queryable, statement, parameters), statement);

/** @throws Error that quotes the statement, but not its values */
export function requireRow<Row>([row]: readonly Row[], statement: string): Row {
  if (row === undefined) throw new Error(`a statement returned no row: ${statement.trim().slice(0, 200)}`);
  return row;
}

/** Formats trusted constants as an SQL list, such as `('http', 'socks')`. Does not escape them. */
export const sqlList = (words: readonly string[]): string =>
  `(${words.map((word) => `'${word}'`).join(', ')})`;

export const snakeCase = (name: string): string =>
  name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** Returns, for example, `id, proxy_type AS "proxyType"`. */
export const selectList = (properties: readonly string[]): string =>
  properties.map((name) => (snakeCase(name) === name ? name : `${snakeCase(name)} AS "${name}"`)).join(', ');

/** Returns the database's time, because replicas' clocks differ. */
export async function databaseTime(dataSource: Queryable): Promise<Date> {
  const row = await queryRow<{ now: Date }>(dataSource, 'SELECT clock_timestamp() AS now');
  return row.now;
}

export const hasSqlState = (error: unknown, code: string): boolean =>
  error instanceof QueryFailedError && (error.driverError as { code?: string }).code === code;

export function violatedConstraint(error: unknown): string | undefined {
  if (!(error instanceof QueryFailedError)) return undefined;
  const { code, constraint } = error.driverError as { code?: string; constraint?: string };
  return code?.startsWith('23') ? constraint : undefined;
}

/** Whether the database refused the statement's values, so that a retry would fail as well. */
export const isRefusedData = (error: unknown): boolean => /^2[23]/.test(sqlStateOf(error));

export const sqlStateOf = (error: unknown): string =>
  (error instanceof QueryFailedError && (error.driverError as { code?: string }).code) || '';

export const OUT_OF_RANGE = '22003';

/** SQLSTATE that refuse_erased_user() raises. */
export const USER_ERASED = '57000';

/** @param refusals errors to throw, by constraint name or SQLSTATE */
export async function refusedBy<Result>(
  refusals: Readonly<Record<string, new () => Error>>,
  statement: () => Promise<Result>,
): Promise<Result> {
  try {
    return await statement();
  } catch (error) {
    const ErrorClass = refusals[violatedConstraint(error) ?? sqlStateOf(error)];
    throw ErrorClass ? new ErrorClass() : error;
  }
}

/** SQLSTATEs of a lost session: lost connection, server shutdown or crash, timeout of a transaction. */
const SESSION_LOST = /^(08|57P|25P0[34])/;

/** Whether a failed statement may have committed or may still commit; `resolveCommitOutcome` finds out. */
export function mayHaveCommitted(error: unknown): boolean {
  return error instanceof QueryFailedError && isSessionLost(error.driverError);
}

/** Whether pg got no response to the statement, or the session ended. */
export function isSessionLost(error: unknown): boolean {
  const { code } = error as { code?: string };
  return code === undefined || !/^[0-9A-Z]{5}$/.test(code) || SESSION_LOST.test(code);
}

/** Thrown if COMMIT got no response. */
export class TransactionOutcomeUnknown extends Error {
  constructor(cause: unknown) {
    super('it is not known whether a transaction was committed', { cause });
    this.name = TransactionOutcomeUnknown.name;
  }
}

/** Error codes of a server that refuses connections, is full, stopping or too slow, or is not the primary. */
const UNAVAILABLE = /^(ECONN|ETIMEDOUT|EPIPE|EHOST|ENETUNREACH|ENOTFOUND|EAI_AGAIN|08|25006|53|57|55P03)/;

export function isDatabaseUnavailable(error: unknown): boolean {
  if (mayHaveCommitted(error) || error instanceof TransactionOutcomeUnknown) return true;
  const cause = error instanceof QueryFailedError ? (error.driverError as unknown) : error;
  if (typeof cause !== 'object' || cause === null) return false;
  if ('code' in cause && UNAVAILABLE.test(String(cause.code))) return true;
  // If no connection becomes free in time, pg-pool's error has no code, so check the message.
  return (
    'message' in cause &&
    /timeout exceeded when trying to connect|Connection terminated/.test(String(cause.message))
  );
}
