-- Returns when the last complete sweep began, if it confirmed the rental's expiry and no order was sent
-- since; otherwise null. Also null if an order was canceled without proof that its call had failed, because
-- that call may still move the expiry.
CREATE OR REPLACE FUNCTION end_confirmed_at(of_proxy bigint) RETURNS timestamptz LANGUAGE plpgsql STABLE AS $$
DECLARE
  swept_from CONSTANT timestamptz := (
    SELECT max(began_at) FROM completed_sweeps WHERE began_at BETWEEN now() - interval '1 hour' AND now());
BEGIN
  RETURN (
    SELECT swept_from FROM proxies
     WHERE id = of_proxy AND absences = 0 AND created_at < swept_from
       AND NOT EXISTS (SELECT FROM orders
                        WHERE proxy_id = of_proxy AND submitted_at IS NOT NULL
                          AND (closed_at >= swept_from
                               OR failure IN ('nothing-found', 'staff')
                                  AND NOT is_prolonged(date_end_before, proxies.date_end))));
END $$;
