-- Removes a proxy's renewals for which no order was placed.
CREATE OR REPLACE FUNCTION drop_renewals(of_proxy bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM renewals WHERE id = ANY (ARRAY(
    SELECT id FROM renewals WHERE proxy_id = of_proxy AND state IN ('planned', 'skipped')
     ORDER BY id FOR UPDATE));
END $$;
