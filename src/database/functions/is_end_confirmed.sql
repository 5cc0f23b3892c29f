-- Whether the end of a rental that is stored here stands for a listing of the provider: a complete sweep has
-- compared it, which began less than an hour ago, and no other order of the proxy was sent since.
CREATE OR REPLACE FUNCTION is_end_confirmed(of_proxy bigint) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
DECLARE
  swept_from CONSTANT timestamptz := (
    SELECT max(began_at) FROM completed_sweeps WHERE began_at BETWEEN now() - interval '1 hour' AND now());
BEGIN
  RETURN coalesce(
    (SELECT absences = 0 AND created_at < swept_from FROM proxies WHERE id = of_proxy)
    AND NOT EXISTS (SELECT FROM orders
                     WHERE proxy_id = of_proxy AND submitted_at IS NOT NULL AND closed_at >= swept_from), false);
END $$;
