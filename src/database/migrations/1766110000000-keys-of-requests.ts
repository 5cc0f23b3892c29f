import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A key of a customer has one request, whether it is for an order or for a bulk. */
export class KeysOfRequests1766110000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE FUNCTION requests_of_key(of_user bigint, key text)
      RETURNS TABLE (order_id bigint, request_hash bytea) LANGUAGE sql STABLE AS $$
        SELECT id, request_hash FROM orders
         WHERE user_id = of_user AND idempotency_key = key AND state <> 'refunded'
        UNION ALL
        SELECT NULL, request_hash FROM bulk_prolongations WHERE user_id = of_user AND idempotency_key = key
      $$;
      CREATE FUNCTION claim_bulk_key() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        PERFORM lock_accounts(ARRAY[NEW.user_id]);
        IF EXISTS (SELECT FROM requests_of_key(NEW.user_id, NEW.idempotency_key) WHERE order_id IS NOT NULL) THEN
          RETURN NULL;
        END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER bulk_prolongations_claim_key BEFORE INSERT ON bulk_prolongations
        FOR EACH ROW EXECUTE FUNCTION claim_bulk_key();
    `);
    await exchange(runner, AN_ORDER, A_REQUEST);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP TRIGGER bulk_prolongations_claim_key ON bulk_prolongations;
      DROP FUNCTION claim_bulk_key();
    `);
    await exchange(runner, A_REQUEST, AN_ORDER);
    await runner.query('DROP FUNCTION requests_of_key(bigint, text)');
  }
}

const AN_ORDER = `SELECT FROM orders WHERE user_id = of_user AND idempotency_key = key AND state <> 'refunded'`;
const A_REQUEST = 'SELECT FROM requests_of_key(of_user, key)';

/** Changes what `order_refusals` asks; the rest of it stays. */
async function exchange(runner: QueryRunner, before: string, after: string): Promise<void> {
  const [{ text }] = (await runner.query(`SELECT pg_get_functiondef('order_refusals'::regproc) AS text`)) as [
    { text: string },
  ];
  if (!text.includes(before)) throw new Error(`order_refusals has no ${before}`);
  await runner.query(text.replace(before, after));
}
