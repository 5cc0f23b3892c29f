-- The text of a moment in events, histories and files: ISO 8601, UTC, as `Date.toISOString()` writes it.
-- `fraction` is what follows the seconds: nothing, as in lists of proxies, or '.US' for microseconds.
CREATE OR REPLACE FUNCTION iso_text(moment timestamptz, fraction text DEFAULT '.MS') RETURNS text
  LANGUAGE sql STABLE AS $$
  SELECT to_char(moment AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS' || fraction || '"Z"')
$$;
