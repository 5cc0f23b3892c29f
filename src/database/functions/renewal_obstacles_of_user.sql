-- Returns the obstacles that staff set for all renewals of a user; empty if there are none.
CREATE OR REPLACE FUNCTION renewal_obstacles_of_user(of_user bigint) RETURNS text[] LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN array_remove(ARRAY[
    CASE WHEN EXISTS (SELECT FROM renewals_pause WHERE paused_at IS NOT NULL)
           OR EXISTS (SELECT FROM renewal_settings WHERE user_id = of_user AND paused_at IS NOT NULL)
         THEN 'paused' END,
    CASE WHEN EXISTS (SELECT FROM users WHERE id = of_user AND blocked_at IS NOT NULL) THEN 'user-blocked' END
  ], NULL);
END $$;
