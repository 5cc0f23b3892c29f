-- Refunds a proxy that does not work, and withdraws it permanently.
-- Returns the refunded amount, or an obstacle: 'refunded', or 'open' (an order or a type change is open). If
-- `by_rule` is true, the obstacle may also be 'assigned' (by staff), 'refunded-by-staff' (at least in part),
-- 'withdrawn', or 'prolonged' (since the request).
-- Locks the orders, the proxy and then the account, in the same sequence as settling a prolongation. Placing
-- an order needs the account's lock, so open orders are checked only after taking it. An order placed between
-- the locks counts as open.
-- FOR NO KEY UPDATE allows new orders to refer to the proxy.
CREATE OR REPLACE FUNCTION refund_proxy(refund proxy_refunds, by_rule boolean)
RETURNS TABLE (obstacle text, amount numeric) LANGUAGE plpgsql AS $$
DECLARE
  of_proxy CONSTANT bigint := refund.proxy_id;
  locked bigint[];
  proxy proxies;
  share record;
BEGIN
  locked := ARRAY(
    SELECT id FROM orders
     WHERE proxy_id = of_proxy OR id = (SELECT order_id FROM proxies WHERE id = of_proxy)
     ORDER BY id FOR UPDATE);
  SELECT * INTO proxy FROM proxies WHERE id = of_proxy FOR NO KEY UPDATE;
  PERFORM lock_accounts(ARRAY[proxy.user_id]);
  obstacle := CASE
    WHEN proxy.refunded_at IS NOT NULL THEN 'refunded'
    WHEN is_changing(of_proxy) OR EXISTS (SELECT FROM orders WHERE proxy_id = of_proxy AND id <> ALL (locked))
      THEN 'open'
    WHEN NOT by_rule THEN NULL
    WHEN proxy.assigned_action_id IS NOT NULL THEN 'assigned'
    WHEN EXISTS (SELECT FROM ledger_entries
                  WHERE order_id = ANY (locked) AND kind = 'refund' AND action_id IS NOT NULL)
      THEN 'refunded-by-staff'
    WHEN proxy.withdrawn_at IS NOT NULL THEN 'withdrawn'
    WHEN is_prolonged_since(of_proxy, refund.last_order_id) THEN 'prolonged'
  END;
  IF obstacle IS NOT NULL THEN
    RETURN NEXT;
    RETURN;
  END IF;

  amount := 0;
  FOR share IN SELECT * FROM refund_shares(of_proxy, refund.requested_at) AS given ORDER BY given.order_id LOOP
    UPDATE orders SET refunded = refunded + share.amount WHERE id = share.order_id;
    INSERT INTO ledger_entries (user_id, kind, order_id, available_delta, held_delta, reason, proxy_refund_id)
    VALUES (proxy.user_id, 'refund', share.order_id, share.amount, 0,
            format('Proxy %s did not work', of_proxy), refund.id);
    amount := amount + share.amount;
  END LOOP;
  UPDATE proxies
     SET refunded_at = now(), withdrawn_at = coalesce(withdrawn_at, now()), active = false, absences = 0
   WHERE id = of_proxy;
  PERFORM drop_renewals(of_proxy);
  PERFORM log_event(proxy.user_id, 'proxy.refunded', jsonb_build_object(
    'proxy_id', of_proxy::text, 'date_end', iso_text(proxy.date_end), 'amount', amount::numeric(14,2)::text));
  RETURN NEXT;
END $$;
