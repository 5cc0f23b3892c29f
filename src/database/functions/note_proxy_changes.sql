-- Notes in `proxy_changes` what a statement changed of proxies that their customers see, so that no statement
-- can forget it. Labels and flags for staff are no changes, and a purchase writes nothing. It never notes a
-- login or a password.
--
-- It writes with the rights of the owner: the service's role may only read the notes.
CREATE OR REPLACE FUNCTION note_proxy_changes() RETURNS trigger LANGUAGE plpgsql
  SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
  INSERT INTO proxy_changes (proxy_id, user_id, kind, before, after)
  SELECT now_is.id, now_is.user_id, change.kind, change.before, change.after
    FROM was JOIN now_is ON now_is.id = was.id
    CROSS JOIN LATERAL (VALUES
      ('moved', (was.host, was.port) <> (now_is.host, now_is.port),
       was.host || ':' || was.port, now_is.host || ':' || now_is.port),
      ('credentials_changed', (was.login, was.password) <> (now_is.login, now_is.password), NULL, NULL),
      ('type_changed', was.proxy_type <> now_is.proxy_type, was.proxy_type, now_is.proxy_type),
      ('end_changed', was.date_end IS DISTINCT FROM now_is.date_end,
       to_char(was.date_end AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
       to_char(now_is.date_end AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')),
      ('withdrawn', was.withdrawn_at IS NULL AND now_is.withdrawn_at IS NOT NULL, NULL, NULL),
      ('returned', was.withdrawn_at IS NOT NULL AND now_is.withdrawn_at IS NULL, NULL, NULL)
    ) AS change (kind, is_one, before, after)
   WHERE (was.host, was.port, was.login, was.password, was.proxy_type, was.date_end, was.withdrawn_at)
           IS DISTINCT FROM
         (now_is.host, now_is.port, now_is.login, now_is.password, now_is.proxy_type, now_is.date_end,
          now_is.withdrawn_at)
     AND change.is_one;
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER proxies_note_changes AFTER UPDATE ON proxies
  REFERENCING OLD TABLE AS was NEW TABLE AS now_is
  FOR EACH STATEMENT EXECUTE FUNCTION note_proxy_changes();
