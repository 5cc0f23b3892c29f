-- Identifies the PostgreSQL server and its timeline, which a restore or a failover changes. Reads the
-- timeline from the start of the current write-ahead log file's name.
CREATE OR REPLACE FUNCTION present_server(OUT system_identifier bigint, OUT timeline bigint)
LANGUAGE sql STABLE AS $$
  SELECT system_identifier, ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint
    FROM pg_control_system()
$$;
