-- Returns the reasons why staff have blocked this user's renewals; empty if there are none.
CREATE OR REPLACE FUNCTION renewals_held_up(of_user bigint) RETURNS text[] LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN array_remove(ARRAY[
    CASE WHEN EXISTS (SELECT FROM renewals_pause WHERE paused_at IS NOT NULL)
           OR EXISTS (SELECT FROM renewal_settings WHERE user_id = of_user AND paused_at IS NOT NULL)
         THEN 'paused' END,
    CASE WHEN EXISTS (SELECT FROM users WHERE id = of_user AND blocked_at IS NOT NULL) THEN 'user-blocked' END
  ], NULL);
END $$;
