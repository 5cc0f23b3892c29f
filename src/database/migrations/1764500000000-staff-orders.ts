import type { MigrationInterface, QueryRunner } from 'typeorm';

const AT = (moment: string): string =>
  `to_char(${moment} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/**
 * What staff need for orders: refunds of what was paid, the history of states, orphans that are decided, and an index for each way in
 * which an order is looked for.
 */
export class StaffOrders1764500000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE orders
        ADD COLUMN refunded numeric(14,2) NOT NULL DEFAULT 0,
        ADD COLUMN history jsonb NOT NULL DEFAULT '[]',
        ADD CONSTRAINT orders_refunded_check CHECK (refunded >= 0 AND refunded <= captured);
      -- Of orders from before there was a history: what their times tell.
      UPDATE orders
         SET history = (SELECT jsonb_agg(jsonb_build_object('state', step, 'at', ${AT('moment')}) ORDER BY place)
                          FROM (VALUES (1, 'reserved', created_at, true),
                                       (2, 'submitting', submitted_at, submitted_at IS NOT NULL),
                                       (3, state, closed_at, state NOT IN ('reserved', 'submitting'))) AS steps (place, step, moment, is_known)
                         WHERE is_known);

      DROP INDEX orders_user_id_idx;
      CREATE INDEX orders_user_id_idx ON orders (user_id, created_at, id);
      CREATE INDEX orders_created_at_idx ON orders (created_at, id);
      -- Nearly all orders are completed: they are found by their time.
      CREATE INDEX orders_state_idx ON orders (state, created_at, id) WHERE state <> 'completed';
      CREATE INDEX orders_provider_order_id_idx ON orders (provider_order_id) WHERE provider_order_id IS NOT NULL;
      CREATE INDEX orders_request_id_idx ON orders (request_id) WHERE request_id IS NOT NULL;
      CREATE INDEX proxies_host_idx ON proxies (host, order_id);

      ALTER TABLE accounts ADD COLUMN spent numeric(14,2) NOT NULL DEFAULT 0;
      ALTER TABLE accounts DISABLE TRIGGER accounts_follow_ledger;
      UPDATE accounts SET spent = captured.amount
        FROM (SELECT user_id, sum(-held_delta) AS amount FROM ledger_entries WHERE kind = 'capture' GROUP BY user_id) AS captured
       WHERE captured.user_id = accounts.user_id;
      ALTER TABLE accounts ENABLE TRIGGER accounts_follow_ledger;

      -- An order is refunded as often as staff say, each time by another action, and held, captured and released once.
      ALTER TABLE ledger_entries
        DROP CONSTRAINT ledger_entries_order_id_kind_key,
        DROP CONSTRAINT ledger_entries_kind_check,
        ADD CONSTRAINT ledger_entries_kind_check CHECK (
          CASE kind
            WHEN 'topup' THEN available_delta > 0 AND held_delta = 0 AND order_id IS NULL
            WHEN 'adjustment' THEN available_delta <> 0 AND held_delta = 0
            WHEN 'hold' THEN available_delta < 0 AND held_delta = -available_delta AND order_id IS NOT NULL
            WHEN 'capture' THEN available_delta = 0 AND held_delta < 0 AND order_id IS NOT NULL
            WHEN 'release' THEN available_delta > 0 AND held_delta = -available_delta AND order_id IS NOT NULL
            WHEN 'refund' THEN available_delta > 0 AND held_delta = 0 AND order_id IS NOT NULL AND action_id IS NOT NULL
            ELSE false
          END);
      CREATE UNIQUE INDEX ledger_entries_order_id_kind_key ON ledger_entries (order_id, kind, action_id) NULLS NOT DISTINCT
        WHERE order_id IS NOT NULL;

      -- On the command line there is no user, and a key counts there as well.
      DROP INDEX staff_actions_idempotency_key;
      CREATE UNIQUE INDEX staff_actions_idempotency_key ON staff_actions (user_id, idempotency_key) NULLS NOT DISTINCT
        WHERE idempotency_key IS NOT NULL;

      ALTER TABLE proxies
        ADD COLUMN tag text,
        ADD COLUMN assigned_action_id bigint,
        ADD CONSTRAINT proxies_assigned_action_id_fkey FOREIGN KEY (assigned_action_id) REFERENCES staff_actions (id),
        ADD CONSTRAINT proxies_assigned_check CHECK ((tag IS NULL) = (assigned_action_id IS NULL));
      ALTER TABLE orphans
        ADD COLUMN resolution text,
        ADD COLUMN resolved_at timestamptz,
        ADD CONSTRAINT orphans_resolution_check CHECK (
          resolution IN ('assigned', 'written-off') AND (resolution IS NULL) = (resolved_at IS NULL));
      CREATE INDEX orphans_open_idx ON orphans (id) WHERE resolution IS NULL;
      CREATE INDEX orphans_tag_idx ON orphans (tag);
    `);

    await runner.query(`
      CREATE OR REPLACE FUNCTION apply_ledger_entry() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        UPDATE accounts
           SET available = available + NEW.available_delta, held = held + NEW.held_delta, seq = seq + 1,
               spent = spent + CASE NEW.kind WHEN 'capture' THEN -NEW.held_delta WHEN 'refund' THEN -NEW.available_delta ELSE 0 END
         WHERE user_id = NEW.user_id
        RETURNING seq, available, held INTO NEW.seq, NEW.available_after, NEW.held_after;
        IF NOT FOUND THEN
          RAISE EXCEPTION 'user % has no account', NEW.user_id
            USING ERRCODE = 'foreign_key_violation', CONSTRAINT = 'ledger_entries_user_id_fkey';
        END IF;
        RETURN NEW;
      END $$;

      CREATE FUNCTION note_order_state() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF TG_OP = 'INSERT' THEN
          NEW.history := '[]';
        ELSIF NEW.history <> OLD.history THEN
          RAISE EXCEPTION 'the history of an order is written by its trigger';
        END IF;
        NEW.history := NEW.history || jsonb_build_object('state', NEW.state, 'at', ${AT('clock_timestamp()')});
        RETURN NEW;
      END $$;
      CREATE TRIGGER orders_note_first_state BEFORE INSERT ON orders
        FOR EACH ROW EXECUTE FUNCTION note_order_state();
      CREATE TRIGGER orders_note_state BEFORE UPDATE ON orders
        FOR EACH ROW WHEN (NEW.state <> OLD.state OR NEW.history <> OLD.history)
        EXECUTE FUNCTION note_order_state();
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP TRIGGER orders_note_state ON orders;
      DROP TRIGGER orders_note_first_state ON orders;
      DROP FUNCTION note_order_state();
      CREATE OR REPLACE FUNCTION apply_ledger_entry() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        UPDATE accounts
           SET available = available + NEW.available_delta, held = held + NEW.held_delta, seq = seq + 1
         WHERE user_id = NEW.user_id
        RETURNING seq, available, held INTO NEW.seq, NEW.available_after, NEW.held_after;
        IF NOT FOUND THEN
          RAISE EXCEPTION 'user % has no account', NEW.user_id
            USING ERRCODE = 'foreign_key_violation', CONSTRAINT = 'ledger_entries_user_id_fkey';
        END IF;
        RETURN NEW;
      END $$;

      DROP INDEX orphans_tag_idx;
      ALTER TABLE orphans DROP COLUMN resolved_at, DROP COLUMN resolution;
      ALTER TABLE proxies DROP COLUMN assigned_action_id, DROP COLUMN tag;
      DROP INDEX staff_actions_idempotency_key;
      CREATE UNIQUE INDEX staff_actions_idempotency_key ON staff_actions (user_id, idempotency_key)
        WHERE idempotency_key IS NOT NULL;
      DROP INDEX ledger_entries_order_id_kind_key;
      ALTER TABLE ledger_entries
        ADD CONSTRAINT ledger_entries_order_id_kind_key UNIQUE (order_id, kind),
        DROP CONSTRAINT ledger_entries_kind_check,
        ADD CONSTRAINT ledger_entries_kind_check CHECK (
          CASE kind
            WHEN 'topup' THEN available_delta > 0 AND held_delta = 0 AND order_id IS NULL
            WHEN 'adjustment' THEN available_delta <> 0 AND held_delta = 0
            WHEN 'hold' THEN available_delta < 0 AND held_delta = -available_delta AND order_id IS NOT NULL
            WHEN 'capture' THEN available_delta = 0 AND held_delta < 0 AND order_id IS NOT NULL
            WHEN 'release' THEN available_delta > 0 AND held_delta = -available_delta AND order_id IS NOT NULL
            ELSE false
          END);
      ALTER TABLE accounts DROP COLUMN spent;
      DROP INDEX proxies_host_idx, orders_request_id_idx, orders_provider_order_id_idx, orders_state_idx, orders_created_at_idx,
                 orders_user_id_idx;
      CREATE INDEX orders_user_id_idx ON orders (user_id, id);
      ALTER TABLE orders DROP COLUMN history, DROP COLUMN refunded;
    `);
  }
}
