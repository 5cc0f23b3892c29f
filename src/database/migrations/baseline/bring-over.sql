-- Makes the tables of the last commit before the baseline those of the baseline. The functions are installed
-- afterwards.

-- Answers of early versions stand in a column of their own.
UPDATE upstream_calls SET answer_json = answer::text WHERE answer_json IS NULL AND answer IS NOT NULL;
ALTER TABLE upstream_calls DROP COLUMN answer;

-- The next sweep is the first one that is kept.
CREATE TABLE completed_sweeps (
  began_at timestamptz PRIMARY KEY,
  completed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  listed integer NOT NULL
);
ALTER TABLE job_runs ADD COLUMN run_id uuid NOT NULL DEFAULT gen_random_uuid();
ALTER TABLE recoveries DROP COLUMN first_swept_at, DROP COLUMN swept_at;

-- What pricing and renewals write stands in tables of theirs.
CREATE TABLE price_rules_revision (
  singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
  revision bigint NOT NULL DEFAULT 0
);
INSERT INTO price_rules_revision (revision) SELECT price_rules_version FROM installation;
CREATE TABLE renewals_pause (
  singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
  paused_at timestamptz,
  paused_reason text
);
INSERT INTO renewals_pause (paused_at, paused_reason)
  SELECT renewals_paused_at, renewals_paused_reason FROM installation;
ALTER TABLE installation
  DROP COLUMN price_rules_version, DROP COLUMN renewals_paused_at, DROP COLUMN renewals_paused_reason;

-- Ends that were read before are read again.
ALTER TABLE orders ADD COLUMN end_read_at timestamptz;

-- Its result has changed.
DROP FUNCTION place_renewals(jsonb, bigint[]);

-- Nothing uses these any more.
ALTER TABLE job_runs DROP COLUMN succeeded_from;
ALTER TABLE call_slots DROP COLUMN orders_in_a_row;
DROP FUNCTION lock_account(bigint);

DELETE FROM migrations;
INSERT INTO migrations (timestamp, name) VALUES (1767000000000, 'Baseline1767000000000');

-- Today's words.
ALTER TABLE upstream_calls RENAME COLUMN answer_json TO answer;
ALTER TABLE upstream_calls RENAME TO provider_calls;
ALTER SEQUENCE upstream_calls_id_seq RENAME TO provider_calls_id_seq;
ALTER INDEX upstream_calls_pkey RENAME TO provider_calls_pkey;
ALTER INDEX upstream_calls_order_id_idx RENAME TO provider_calls_order_id_idx;
ALTER TABLE provider_calls RENAME CONSTRAINT upstream_calls_order_id_fkey TO provider_calls_order_id_fkey;
ALTER TABLE catalogue_copies RENAME TO catalog_copies;
ALTER INDEX catalogue_copies_pkey RENAME TO catalog_copies_pkey;
ALTER TABLE call_slots RENAME TO rate_permits;
ALTER INDEX call_slots_pkey RENAME TO rate_permits_pkey;
ALTER TABLE call_demand RENAME TO permit_demand;
ALTER INDEX call_demand_pkey RENAME TO permit_demand_pkey;
DROP FUNCTION take_call_slot(text, uuid, smallint[], integer, double precision);
ALTER TABLE staff_actions RENAME TO audit_log;
ALTER SEQUENCE staff_actions_id_seq RENAME TO audit_log_id_seq;
DO $renamed$
DECLARE
  one record;
BEGIN
  FOR one IN
    SELECT conname AS name FROM pg_constraint WHERE conrelid = 'audit_log'::regclass AND conname LIKE 'staff\_actions%'
       AND contype <> 'n'
  LOOP
    EXECUTE format('ALTER TABLE audit_log RENAME CONSTRAINT %I TO %I', one.name,
                   replace(one.name, 'staff_actions', 'audit_log'));
  END LOOP;
  FOR one IN
    SELECT indexrelid::regclass AS name FROM pg_index
     WHERE indrelid = 'audit_log'::regclass AND indexrelid::regclass::text LIKE 'staff\_actions%'
  LOOP
    EXECUTE format('ALTER INDEX %s RENAME TO %I', one.name, replace(one.name::text, 'staff_actions', 'audit_log'));
  END LOOP;
  FOR one IN SELECT tgname AS name FROM pg_trigger WHERE tgrelid = 'audit_log'::regclass AND tgname LIKE 'staff\_actions%' LOOP
    EXECUTE format('ALTER TRIGGER %I ON audit_log RENAME TO %I', one.name, replace(one.name, 'staff_actions', 'audit_log'));
  END LOOP;
END $renamed$;
ALTER TABLE orders RENAME COLUMN group_id TO batch_id;
ALTER INDEX orders_group_id_idx RENAME TO orders_batch_id_idx;
ALTER TABLE orders RENAME CONSTRAINT orders_group_id_fkey TO orders_batch_id_fkey;
ALTER TABLE orders RENAME COLUMN travels_alone TO resent;
ALTER TABLE orders RENAME COLUMN looks TO checks;
ALTER TABLE orders RENAME COLUMN next_look_at TO next_check_at;
