-- Skips the next ids of every table after a database restore, because customers and the provider know ids
-- that were assigned after the restore point. SECURITY DEFINER, because the service's role may only take a
-- sequence's next value.
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
