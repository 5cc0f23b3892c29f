-- Skips the next ids of every table. It is called after the database was restored to an earlier moment: ids
-- that were assigned after that moment are known elsewhere, in order references at the provider and in
-- customers' records, and must never refer to anything else.
--
-- The function has the owner's rights, because the service's role may only take the next value of a sequence.
-- The search path is fixed, so that no caller can insert other functions of the same names before these.
CREATE OR REPLACE FUNCTION skip_ids(how_many bigint) RETURNS void LANGUAGE plpgsql
  SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
  one record;
BEGIN
  IF how_many <= 0 THEN
    RAISE EXCEPTION 'ids are only ever skipped forward';
  END IF;
  FOR one IN
    SELECT format('%I.%I', schemaname, sequencename)::regclass AS of_ids, coalesce(last_value, start_value) AS last
      FROM pg_sequences WHERE schemaname = 'public' AND data_type = 'bigint'::regtype
  LOOP
    PERFORM setval(one.of_ids, one.last + how_many);
  END LOOP;
END $$;
REVOKE EXECUTE ON FUNCTION skip_ids(bigint) FROM PUBLIC;
