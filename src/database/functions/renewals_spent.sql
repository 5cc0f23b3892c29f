-- Returns a user's spending on renewals since the start of a month: charges, and holds of orders in progress.
CREATE OR REPLACE FUNCTION renewals_spent(of_user bigint, since timestamptz) RETURNS numeric
LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN (
    SELECT coalesce(sum(price), 0.00) FROM renewals
     WHERE user_id = of_user AND state IN ('placed', 'done')
       AND coalesce(charged_at, (SELECT created_at FROM orders WHERE orders.id = renewals.order_id)) >= since);
END $$;
