-- Formats a moment as ISO 8601 in UTC. `fraction` follows the seconds: '' for none, '.US' for microseconds.
CREATE OR REPLACE FUNCTION iso_text(moment timestamptz, fraction text DEFAULT '.MS') RETURNS text
  LANGUAGE sql STABLE AS $$
  SELECT to_char(moment AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS' || fraction || '"Z"')
$$;
