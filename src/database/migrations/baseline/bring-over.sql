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
