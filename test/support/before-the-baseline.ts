import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { connectClient } from './test-database';

const FIXTURE = join(__dirname, '../fixtures/before-the-baseline.sql');

/**
 * Makes an empty database one of the last commit before the baseline, with orders, keys, events and renewals.
 *
 * @param url of the owner of the tables
 */
export async function loadBeforeTheBaseline(url: string): Promise<void> {
  const client = await connectClient(url);
  try {
    const { rowCount } = await client.query(`SELECT FROM pg_roles WHERE rolname = 'proxy_rental_test'`);
    // The rights of the service are granted to this one.
    if (rowCount === 0) await client.query('CREATE ROLE proxy_rental_test');
    await client.query(readFileSync(FIXTURE, 'utf8'));
    // An order that is open for a day is left to staff. The fixture's was open on 24 November 2026.
    await client.query(
      'UPDATE public.orders SET created_at = now(), deadline = now() WHERE closed_at IS NULL',
    );
  } finally {
    await client.end();
  }
}
