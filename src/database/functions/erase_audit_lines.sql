-- Clears the requests, reasons and values in audit log lines about a customer, including searches for the
-- customer's names. Returns the number of lines. Must be called before the names are erased, because it
-- searches for them. Does not change lines that record money postings. A dry run only counts.
CREATE OR REPLACE FUNCTION erase_audit_lines(of_user bigint, is_dry_run boolean) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
  names CONSTANT text[] := ARRAY(
    SELECT lower(name) FROM users, unnest(ARRAY[username, web_username, telegram_username, tg_id::text]) AS name
     WHERE id = of_user AND length(name) >= 3);
  lines CONSTANT bigint[] := ARRAY(
    SELECT id FROM audit_log
     WHERE idempotency_key IS NULL AND action <> 'users.erase'
       AND (target_type = 'user' AND target_id = of_user::text
         OR target_type IN ('token', 'webhook') AND coalesce(after, before) ->> 'user_id' = of_user::text
         OR target_type = 'token' AND target_id IN (SELECT id::text FROM api_tokens WHERE user_id = of_user)
         OR action IN ('users.search', 'users.create') AND EXISTS (
              SELECT FROM jsonb_each_text(request) AS field, unnest(names) AS name
               WHERE strpos(lower(field.value), name) > 0
                  OR length(field.value) >= 3 AND strpos(name, lower(field.value)) > 0))
       AND (request <> '{}' OR reason IS NOT NULL OR coalesce(before, '{}') <> '{}' OR coalesce(after, '{}') <> '{}'));
BEGIN
  IF NOT is_dry_run AND lines <> '{}' THEN
    IF EXISTS (SELECT FROM audit_log WHERE user_id = of_user) THEN
      RAISE EXCEPTION 'the audit log of a member of staff stays';
    END IF;
    UPDATE audit_log
       SET request = '{}', reason = NULL, before = CASE WHEN before IS NOT NULL THEN '{}'::jsonb END,
           after = CASE WHEN after IS NOT NULL THEN '{}'::jsonb END
     WHERE id = ANY (lines);
  END IF;
  RETURN cardinality(lines);
END $$;
REVOKE EXECUTE ON FUNCTION erase_audit_lines(bigint, boolean) FROM PUBLIC;
