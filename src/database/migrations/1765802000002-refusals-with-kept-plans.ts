import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Placing an order takes no longer than before there were guards: one query for all reasons of a refusal was
 * planned anew for each order.
 */
export class RefusalsWithKeptPlans1765802000002 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE OR REPLACE FUNCTION order_refusals(
        of_user bigint, price numeric, max_price numeric, available numeric, key text, prolonged bigint,
        limited bigint[], taken text[])
      RETURNS text[] LANGUAGE plpgsql STABLE AS $$
      DECLARE
        refusals text[] := '{}';
      BEGIN
        -- Each query stands alone behind what needs none, so that its plan is kept.
        IF key IS NOT NULL THEN
          IF format('key %s %s', of_user, key) = ANY (taken) THEN
            refusals := refusals || 'key-in-use'::text;
          ELSIF EXISTS (
            SELECT FROM orders WHERE user_id = of_user AND idempotency_key = key AND state <> 'refunded') THEN
            refusals := refusals || 'key-in-use'::text;
          END IF;
        END IF;
        IF prolonged IS NOT NULL THEN
          IF format('proxy %s', prolonged) = ANY (taken) THEN
            refusals := refusals || 'prolongation-open'::text;
          ELSIF EXISTS (SELECT FROM orders WHERE proxy_id = prolonged AND closed_at IS NULL) THEN
            refusals := refusals || 'prolongation-open'::text;
          END IF;
        END IF;
        IF price > max_price THEN
          refusals := refusals || 'above-max-price'::text;
        END IF;
        IF price > available THEN
          refusals := refusals || 'insufficient-balance'::text;
        END IF;
        IF limited IS NOT NULL THEN
          -- A token has no row for a day before its first order of that day.
          IF EXISTS (
            SELECT FROM api_tokens token LEFT JOIN token_spending counter
                ON counter.token_id = token.id AND counter.day = (now() AT TIME ZONE 'UTC')::date
             WHERE token.id = ANY (limited)
               AND coalesce(counter.spent, 0) + price > coalesce(counter.day_limit, token.daily_limit)) THEN
            refusals := refusals || 'daily-limit'::text;
          END IF;
        END IF;
        RETURN refusals;
      END $$;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE OR REPLACE FUNCTION order_refusals(
        of_user bigint, price numeric, max_price numeric, available numeric, key text, prolonged bigint,
        limited bigint[], taken text[])
      RETURNS text[] LANGUAGE plpgsql STABLE AS $$
      BEGIN
        RETURN array_remove(ARRAY[
          CASE WHEN key IS NOT NULL AND (
            format('key %s %s', of_user, key) = ANY (taken)
            OR EXISTS (SELECT FROM orders WHERE user_id = of_user AND idempotency_key = key AND state <> 'refunded'))
          THEN 'key-in-use' END,
          CASE WHEN prolonged IS NOT NULL AND (
            format('proxy %s', prolonged) = ANY (taken)
            OR EXISTS (SELECT FROM orders WHERE proxy_id = prolonged AND closed_at IS NULL))
          THEN 'prolongation-open' END,
          CASE WHEN price > max_price THEN 'above-max-price' END,
          CASE WHEN price > available THEN 'insufficient-balance' END,
          CASE WHEN limited IS NOT NULL AND EXISTS (
            -- A token has no row for a day before its first order of that day.
            SELECT FROM api_tokens token LEFT JOIN token_spending counter
                ON counter.token_id = token.id AND counter.day = (now() AT TIME ZONE 'UTC')::date
             WHERE token.id = ANY (limited)
               AND coalesce(counter.spent, 0) + price > coalesce(counter.day_limit, token.daily_limit))
          THEN 'daily-limit' END
        ], NULL);
      END $$;
    `);
  }
}
