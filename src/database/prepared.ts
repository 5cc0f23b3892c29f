import type { Pool } from 'pg';
import { DataSource, QueryFailedError } from 'typeorm';
import type { PostgresDriver } from 'typeorm/driver/postgres/PostgresDriver';
import { isSessionLost, type Queryable, queryRows } from './sql';

/** Each text that is sent this way, and what it is called on every connection. */
const names = new Map<string, string>();

function nameOf(statement: string): string {
  let name = names.get(statement);
  if (name === undefined) names.set(statement, (name = `s${names.size + 1}`));
  return name;
}

/** A connection that is cut says so to whoever waits for its answer. */
const ignore = (): void => undefined;

/**
 * What {@link queryRows} does, for a statement that is sent all the time: each connection parses it once, by a name, and plans it a few
 * times. Only for texts that are written in the code, because every connection keeps all of them. In a transaction it is sent
 * like any other.
 *
 * @throws QueryFailedError
 */
export async function preparedRows<Row>(
  queryable: Queryable,
  statement: string,
  parameters: readonly unknown[] = [],
): Promise<Row[]> {
  if (!(queryable instanceof DataSource)) return queryRows<Row>(queryable, statement, parameters);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const pool = (queryable.driver as PostgresDriver).master as Pool;
  const values = [...parameters];
  const client = await pool.connect();
  client.on('error', ignore);
  let isLost = false;
  try {
    queryable.logger.logQuery(statement, values);
    const { rows } = await client.query({ name: nameOf(statement), text: statement, values });
    return rows as Row[];
  } catch (error) {
    queryable.logger.logQueryError(String(error), statement, values);
    isLost = isSessionLost(error);
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    throw new QueryFailedError(statement, values, error as Error);
  } finally {
    client.off('error', ignore);
    client.release(isLost);
  }
}
