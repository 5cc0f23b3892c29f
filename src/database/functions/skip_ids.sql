-- Skips the next ids of every table. Called after the database was restored to an earlier moment: the ids
-- that were given out after that moment are known elsewhere, in order references at the provider and in
-- customers' own records, and must never name anything else.
--
-- It runs with the rights of the owner: the service's role may only take the next value of a sequence. The
-- search path is fixed, so that no caller can put another function of a name before these.
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
