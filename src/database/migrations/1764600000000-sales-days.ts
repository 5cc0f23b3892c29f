import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Sums of sales by day, and how to find what is not summed up yet. */
export class SalesDays1764600000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE INDEX orders_closed_at_idx ON orders (closed_at) WHERE captured > 0;
      CREATE INDEX ledger_entries_refunds_idx ON ledger_entries (created_at) WHERE kind = 'refund';

      CREATE TABLE sales_days (
        day date NOT NULL,
        country text NOT NULL,
        version text NOT NULL,
        purchases bigint NOT NULL,
        prolongations bigint NOT NULL,
        proxies bigint NOT NULL,
        sales numeric NOT NULL,
        refunds numeric NOT NULL,
        cost numeric NOT NULL,
        CONSTRAINT sales_days_pkey PRIMARY KEY (day, country, version)
      );

      -- All days before this one stand in sales_days, none from it on. Without a row none does.
      CREATE TABLE sales_rollup (
        singleton boolean NOT NULL DEFAULT true,
        rolled_to date NOT NULL,
        CONSTRAINT sales_rollup_pkey PRIMARY KEY (singleton),
        CONSTRAINT sales_rollup_singleton_check CHECK (singleton)
      );
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP TABLE sales_rollup, sales_days;
      DROP INDEX ledger_entries_refunds_idx, orders_closed_at_idx;
    `);
  }
}
