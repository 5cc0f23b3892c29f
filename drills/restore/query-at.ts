import { Client } from 'pg';

/** Runs a statement on a connection of its own. */
export async function queryAt<Row>(
  url: string,
  statement: string,
  parameters: unknown[] = [],
): Promise<Row[]> {
  const client = new Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query(statement, parameters)).rows as Row[];
  } finally {
    await client.end();
  }
}
