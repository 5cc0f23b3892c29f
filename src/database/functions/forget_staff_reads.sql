-- Deletes audit log lines about reads and refused requests that are older than `days` days. Checks the next
-- `row_limit` lines after `after_id`. Returns the number of deleted lines, and the id of the last old line
-- checked. The service's role has no other way to delete lines.
CREATE OR REPLACE FUNCTION forget_staff_reads(after_id bigint, days integer, row_limit integer)
RETURNS TABLE (removed bigint, last bigint)
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
  WITH next AS MATERIALIZED (
    SELECT id, at < now() - make_interval(days => days) AS is_old
      FROM audit_log WHERE id > after_id ORDER BY id LIMIT row_limit
  ),
  old AS MATERIALIZED (
    SELECT id FROM next
     WHERE id < coalesce((SELECT min(id) FROM next WHERE NOT is_old), 9223372036854775807)
  ),
  removed AS (
    DELETE FROM audit_log AS line
     WHERE id = ANY (ARRAY(SELECT id FROM old)) AND after IS NULL AND idempotency_key IS NULL
       AND NOT EXISTS (SELECT FROM ledger_entries WHERE action_id = line.id)
    RETURNING 1
  )
  SELECT (SELECT count(*) FROM removed), (SELECT max(id) FROM old)
$$;
REVOKE EXECUTE ON FUNCTION forget_staff_reads(bigint, integer, integer) FROM PUBLIC;
