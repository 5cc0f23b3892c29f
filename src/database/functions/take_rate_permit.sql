-- Grants one rate permit for a call to a provider: all replicas combined get at most `calls` permits in any
-- window of `window_ms`. Returns the permit's priority, or null and the milliseconds until the next poll.
-- `wanted`: the priorities of the replica's waiting calls (1 orders, 2 confirmations, 3 prices, 4 other
-- calls, 5 exact prices, 6 spare calls; see CALL_PRIORITIES).
-- `passed_over` counts how often each waiting priority was passed over for another. A confirmation goes next
-- after being passed over twice; any other call, after eight times.
CREATE OR REPLACE FUNCTION take_rate_permit(
  of_provider text, asker uuid, wanted smallint[], calls integer, window_ms double precision)
RETURNS TABLE (priority smallint, wait_ms double precision, granted_at text) LANGUAGE plpgsql AS $$
DECLARE
  permits rate_permits;
  moment timestamptz;
  free_at timestamptz;
  waiting smallint[];
  best smallint;
BEGIN
  -- A permit is valid for only 60 ms, so the commit need not wait for the disk.
  PERFORM set_config('synchronous_commit', 'off', true);
  SELECT * INTO permits FROM rate_permits WHERE provider = of_provider FOR UPDATE;
  IF NOT FOUND THEN
    INSERT INTO rate_permits (provider) VALUES (of_provider) ON CONFLICT DO NOTHING;
    SELECT * INTO permits FROM rate_permits WHERE provider = of_provider FOR UPDATE;
  END IF;
  moment := clock_timestamp();
  IF permits.granted[cardinality(permits.granted)] > moment
     OR permits.paused_until > moment + interval '1 minute' THEN
    -- The clock was set back, so the recorded times are useless. Pause for a full window instead.
    permits.granted := '{}';
    permits.paused_until := moment + make_interval(secs => window_ms / 1000);
    UPDATE rate_permits SET granted = permits.granted, paused_until = permits.paused_until
     WHERE provider = of_provider;
  END IF;
  free_at := permits.paused_until;
  IF cardinality(permits.granted) >= calls THEN
    free_at := greatest(free_at,
      permits.granted[cardinality(permits.granted) - calls + 1] + make_interval(secs => window_ms / 1000));
  END IF;

  -- If a replica does not poll in time, its demand expires, because the replica is presumably dead.
  INSERT INTO permit_demand VALUES (of_provider, asker, wanted, greatest(free_at, moment) + interval '500 ms')
  ON CONFLICT (provider, holder)
  DO UPDATE SET priorities = excluded.priorities, expires_at = excluded.expires_at;
  IF free_at > moment THEN
    RETURN QUERY
    SELECT NULL::smallint, extract(epoch FROM free_at - moment)::double precision * 1000, NULL::text;
    RETURN;
  END IF;

  waiting := ARRAY(
    SELECT DISTINCT kind FROM permit_demand demand, unnest(demand.priorities) AS kind
     WHERE demand.provider = of_provider AND demand.expires_at > moment ORDER BY kind);
  SELECT kind INTO best FROM unnest(waiting) AS kind
   ORDER BY coalesce(permits.passed_over[kind], 0) < CASE kind WHEN 2 THEN 2 ELSE 8 END, kind LIMIT 1;
  IF best <> ALL (wanted) THEN
    -- Another replica has a more urgent call.
    RETURN QUERY SELECT NULL::smallint, 25::double precision, NULL::text;
    RETURN;
  END IF;
  free_at := permits.granted[cardinality(permits.granted) - calls + 2] + make_interval(secs => window_ms / 1000);
  IF best = 6 AND calls > 1 AND free_at > moment AND coalesce(permits.passed_over[best], 0) < 8 THEN
    -- Leave the window's last permit to calls of other priorities.
    RETURN QUERY SELECT NULL::smallint, 100::double precision, NULL::text;
    RETURN;
  END IF;

  UPDATE rate_permits
     SET granted = (permits.granted || moment)[greatest(1, cardinality(permits.granted) + 2 - calls):],
         passed_over = ARRAY(
           SELECT CASE WHEN kind <> best AND kind = ANY (waiting)
                       THEN coalesce(permits.passed_over[kind], 0) + 1 ELSE 0 END
             FROM generate_series(1, 6) AS kind ORDER BY kind)
   WHERE provider = of_provider;
  -- Remove only the granted call, because the replica's other calls still wait.
  wanted := wanted[:array_position(wanted, best) - 1] || wanted[array_position(wanted, best) + 1:];
  UPDATE permit_demand demand SET priorities = wanted
   WHERE demand.provider = of_provider AND demand.holder = asker;
  RETURN QUERY SELECT best, 0::double precision, moment::text;
END $$;
