import { DataSource, QueryFailedError } from 'typeorm';
import { recordSession } from './commit-outcome';
import { connectionPool } from './connection-pool';
import { isPlanOutdated, retryUndone } from './retry-undone';
import { isSessionLost, type Queryable, queryRows, requireRow } from './sql';

const names = new Map<string, string>();
let latestName = 0;

function nameOf(statement: string): string {
  let name = names.get(statement);
  if (name === undefined) names.set(statement, (name = `s${(latestName += 1)}`));
  return name;
}

/** The query rejects with the same error. Without a listener, the error event would end the process. */
const ignore = (): void => undefined;

/**
 * Runs a statement that each connection prepares only once, so its text must be constant.
 * @throws QueryFailedError
 */
export async function preparedRows<Row>(
  queryable: Queryable,
  statement: string,
  parameters: readonly unknown[] = [],
): Promise<Row[]> {
  return queryable instanceof DataSource
    ? retryUndone(() => runPrepared<Row>(queryable, statement, [...parameters]))
    : queryRows<Row>(queryable, statement, parameters);
}

export const preparedRow = async <Row>(
  queryable: Queryable,
  statement: string,
  parameters: readonly unknown[] = [],
): Promise<Row> => requireRow(await preparedRows<Row>(queryable, statement, parameters), statement);

async function runPrepared<Row>(
  dataSource: DataSource,
  statement: string,
  values: unknown[],
): Promise<Row[]> {
  const client = await connectionPool(dataSource).connect();
  client.on('error', ignore);
  const name = nameOf(statement);
  let isLost = false;
  try {
    dataSource.logger.logQuery(statement, values);
    const { rows } = await client.query({ name, text: statement, values });
    return rows as Row[];
  } catch (error) {
    dataSource.logger.logQueryError(String(error), statement, values);
    // Drop the name, so that every connection parses the statement again, under a new name.
    if (isPlanOutdated(error) && names.get(statement) === name) names.delete(statement);
    isLost = isSessionLost(error);
    const failure = new QueryFailedError(statement, values, error as Error);
    if (isLost) recordSession(failure, client);
    throw failure;
  } finally {
    client.off('error', ignore);
    client.release(isLost);
  }
}
