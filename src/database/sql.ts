import { type DataSource, QueryFailedError } from 'typeorm';

/**
 * Runs one statement and gives the rows that it selects or returns.
 * (TypeORM answers an UPDATE or DELETE with `[rows, count]`, anything else with the rows.)
 */
export async function queryRows<Row>(
  dataSource: DataSource,
  statement: string,
  parameters: readonly unknown[] = [],
): Promise<Row[]> {
  const answer = await dataSource.query<Row[] | [Row[], number]>(statement, [...parameters]);
  return Array.isArray(answer[0]) ? answer[0] : (answer as Row[]);
}

/** The name of the constraint that refused a statement, or undefined when it failed for another reason. */
export function violatedConstraint(error: unknown): string | undefined {
  if (!(error instanceof QueryFailedError)) return undefined;
  const { code, constraint } = error.driverError as { code?: string; constraint?: string };
  return code?.startsWith('23') ? constraint : undefined;
}
