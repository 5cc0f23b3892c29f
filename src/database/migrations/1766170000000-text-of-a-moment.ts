import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The text of a moment is written by one function. */
export class TextOfAMoment1766170000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(ISO_TEXT);
    await runner.query(NOTE_ORDER_STATE);
    await runner.query(NOTE_PROXY_CHANGES);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(NOTE_ORDER_STATE_BEFORE);
    await runner.query(NOTE_PROXY_CHANGES_BEFORE);
    await runner.query('DROP FUNCTION iso_text(timestamptz, text)');
  }
}

const ISO_TEXT = `
  CREATE OR REPLACE FUNCTION iso_text(moment timestamptz, fraction text DEFAULT '.MS') RETURNS text
    LANGUAGE sql STABLE AS $$
    SELECT to_char(moment AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS' || fraction || '"Z"')
  $$;`;

const NOTE_ORDER_STATE = `
  CREATE OR REPLACE FUNCTION note_order_state() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    IF TG_OP = 'INSERT' THEN
      NEW.history := '[]';
    ELSIF NEW.history <> OLD.history THEN
      IF NEW.state = OLD.state AND OLD.closed_at < now() - interval '30 days'
         AND NEW.history = jsonb_build_array(OLD.history -> -1) THEN
        RETURN NEW;
      END IF;
      RAISE EXCEPTION 'the history of an order is written by its trigger';
    END IF;
    NEW.history := NEW.history || jsonb_build_object('state', NEW.state, 'at', iso_text(clock_timestamp()));
    RETURN NEW;
  END $$;

  CREATE OR REPLACE TRIGGER orders_note_first_state BEFORE INSERT ON orders
    FOR EACH ROW EXECUTE FUNCTION note_order_state();
  CREATE OR REPLACE TRIGGER orders_note_state BEFORE UPDATE ON orders
    FOR EACH ROW WHEN (NEW.state <> OLD.state OR NEW.history <> OLD.history)
    EXECUTE FUNCTION note_order_state();`;

const NOTE_ORDER_STATE_BEFORE = `
  CREATE OR REPLACE FUNCTION note_order_state() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    IF TG_OP = 'INSERT' THEN
      NEW.history := '[]';
    ELSIF NEW.history <> OLD.history THEN
      IF NEW.state = OLD.state AND OLD.closed_at < now() - interval '30 days'
         AND NEW.history = jsonb_build_array(OLD.history -> -1) THEN
        RETURN NEW;
      END IF;
      RAISE EXCEPTION 'the history of an order is written by its trigger';
    END IF;
    NEW.history := NEW.history || jsonb_build_object('state', NEW.state,
      'at', to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'));
    RETURN NEW;
  END $$;

  CREATE OR REPLACE TRIGGER orders_note_first_state BEFORE INSERT ON orders
    FOR EACH ROW EXECUTE FUNCTION note_order_state();
  CREATE OR REPLACE TRIGGER orders_note_state BEFORE UPDATE ON orders
    FOR EACH ROW WHEN (NEW.state <> OLD.state OR NEW.history <> OLD.history)
    EXECUTE FUNCTION note_order_state();`;

const NOTE_PROXY_CHANGES = `
  CREATE OR REPLACE FUNCTION note_proxy_changes() RETURNS trigger LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
  BEGIN
    INSERT INTO proxy_changes (proxy_id, user_id, kind, before, after)
    SELECT NEW.id, NEW.user_id, change.kind, change.before, change.after
      FROM (VALUES
        ('moved', (OLD.host, OLD.port) <> (NEW.host, NEW.port),
         OLD.host || ':' || OLD.port, NEW.host || ':' || NEW.port),
        ('credentials_changed', (OLD.login, OLD.password) <> (NEW.login, NEW.password), NULL, NULL),
        ('type_changed', OLD.proxy_type <> NEW.proxy_type, OLD.proxy_type, NEW.proxy_type),
        ('end_changed', OLD.date_end IS DISTINCT FROM NEW.date_end,
         iso_text(OLD.date_end, ''),
         iso_text(NEW.date_end, '')),
        ('withdrawn', OLD.withdrawn_at IS NULL AND NEW.withdrawn_at IS NOT NULL, NULL, NULL),
        ('returned', OLD.withdrawn_at IS NOT NULL AND NEW.withdrawn_at IS NULL, NULL, NULL)
      ) AS change (kind, is_one, before, after)
     WHERE change.is_one;
    INSERT INTO events (user_id, type, data)
    SELECT NEW.user_id, event.type, jsonb_build_object('proxy_id', NEW.id::text) || event.data
      FROM (VALUES
        ('proxy.moved', (OLD.host, OLD.port) <> (NEW.host, NEW.port), '{}'::jsonb),
        ('proxy.prolonged', NEW.date_end > OLD.date_end + interval '6 hours', jsonb_build_object(
           'date_end', iso_text(NEW.date_end),
           'date_end_before', iso_text(OLD.date_end))),
        ('proxy.withdrawn', OLD.withdrawn_at IS NULL AND NEW.withdrawn_at IS NOT NULL, jsonb_build_object(
           'date_end', iso_text(NEW.date_end))),
        ('proxy.expired', OLD.active AND NOT NEW.active AND NEW.withdrawn_at IS NULL
                          AND NEW.date_end <= clock_timestamp(), jsonb_build_object(
           'date_end', iso_text(NEW.date_end)))
      ) AS event (type, is_one, data)
     WHERE event.is_one;
    RETURN NULL;
  END $$;

  CREATE OR REPLACE TRIGGER proxies_note_changes AFTER UPDATE ON proxies
    FOR EACH ROW WHEN (
      (OLD.host, OLD.port, OLD.login, OLD.password, OLD.proxy_type, OLD.date_end, OLD.withdrawn_at)
        IS DISTINCT FROM
      (NEW.host, NEW.port, NEW.login, NEW.password, NEW.proxy_type, NEW.date_end, NEW.withdrawn_at)
      OR (OLD.active AND NOT NEW.active))
    EXECUTE FUNCTION note_proxy_changes();`;

const NOTE_PROXY_CHANGES_BEFORE = `
  CREATE OR REPLACE FUNCTION note_proxy_changes() RETURNS trigger LANGUAGE plpgsql
    SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
  BEGIN
    INSERT INTO proxy_changes (proxy_id, user_id, kind, before, after)
    SELECT NEW.id, NEW.user_id, change.kind, change.before, change.after
      FROM (VALUES
        ('moved', (OLD.host, OLD.port) <> (NEW.host, NEW.port),
         OLD.host || ':' || OLD.port, NEW.host || ':' || NEW.port),
        ('credentials_changed', (OLD.login, OLD.password) <> (NEW.login, NEW.password), NULL, NULL),
        ('type_changed', OLD.proxy_type <> NEW.proxy_type, OLD.proxy_type, NEW.proxy_type),
        ('end_changed', OLD.date_end IS DISTINCT FROM NEW.date_end,
         to_char(OLD.date_end AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
         to_char(NEW.date_end AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')),
        ('withdrawn', OLD.withdrawn_at IS NULL AND NEW.withdrawn_at IS NOT NULL, NULL, NULL),
        ('returned', OLD.withdrawn_at IS NOT NULL AND NEW.withdrawn_at IS NULL, NULL, NULL)
      ) AS change (kind, is_one, before, after)
     WHERE change.is_one;
    INSERT INTO events (user_id, type, data)
    SELECT NEW.user_id, event.type, jsonb_build_object('proxy_id', NEW.id::text) || event.data
      FROM (VALUES
        ('proxy.moved', (OLD.host, OLD.port) <> (NEW.host, NEW.port), '{}'::jsonb),
        ('proxy.prolonged', NEW.date_end > OLD.date_end + interval '6 hours', jsonb_build_object(
           'date_end', to_char(NEW.date_end AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
           'date_end_before', to_char(OLD.date_end AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))),
        ('proxy.withdrawn', OLD.withdrawn_at IS NULL AND NEW.withdrawn_at IS NOT NULL, jsonb_build_object(
           'date_end', to_char(NEW.date_end AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))),
        ('proxy.expired', OLD.active AND NOT NEW.active AND NEW.withdrawn_at IS NULL
                          AND NEW.date_end <= clock_timestamp(), jsonb_build_object(
           'date_end', to_char(NEW.date_end AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')))
      ) AS event (type, is_one, data)
     WHERE event.is_one;
    RETURN NULL;
  END $$;

  CREATE OR REPLACE TRIGGER proxies_note_changes AFTER UPDATE ON proxies
    FOR EACH ROW WHEN (
      (OLD.host, OLD.port, OLD.login, OLD.password, OLD.proxy_type, OLD.date_end, OLD.withdrawn_at)
        IS DISTINCT FROM
      (NEW.host, NEW.port, NEW.login, NEW.password, NEW.proxy_type, NEW.date_end, NEW.withdrawn_at)
      OR (OLD.active AND NOT NEW.active))
    EXECUTE FUNCTION note_proxy_changes();`;
