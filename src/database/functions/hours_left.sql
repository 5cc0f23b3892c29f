-- Returns the number of whole hours until an expiry, as stored in `proxies.reminded_hours`.
CREATE OR REPLACE FUNCTION hours_left(ending timestamptz) RETURNS integer LANGUAGE sql STABLE AS $$
  SELECT least(32767, greatest(0, round(date_part('epoch', ending - now()) / 3600)))::integer
$$;
