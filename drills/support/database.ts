import { Client } from 'pg';

export async function withClient<Result>(
  url: string,
  work: (client: Client) => Promise<Result>,
): Promise<Result> {
  const client = new Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

export const queryAt = <Row>(url: string, statement: string, parameters: unknown[] = []): Promise<Row[]> =>
  withClient(url, async (client) => (await client.query(statement, parameters)).rows as Row[]);

export const inDatabase = (url: string, name: string): string =>
  Object.assign(new URL(url), { pathname: `/${name}` }).href;
