import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * What a proxy refers to is checked once a statement instead of row by row, which took a third of the time of storing a purchase: its
 * order, which must be its user's, and what staff did to assign it. None of them can be deleted: orders are held by their entries in the
 * ledger, users by their orders, and the log of staff is appended to only.
 */
export class ProxyReferences1764900000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      -- One by one, so that no plan ever reads a table from end to end.
      CREATE FUNCTION check_proxy_references() RETURNS trigger LANGUAGE plpgsql AS $$
      DECLARE
        named record;
      BEGIN
        FOR named IN SELECT DISTINCT order_id, user_id FROM arrived ORDER BY order_id LOOP
          PERFORM FROM orders WHERE id = named.order_id AND user_id = named.user_id FOR KEY SHARE;
          IF NOT FOUND THEN
            RAISE foreign_key_violation
              USING MESSAGE = 'a proxy of an order that does not exist or is not of its user', CONSTRAINT = 'proxies_order_id_fkey';
          END IF;
        END LOOP;
        FOR named IN SELECT DISTINCT assigned_action_id FROM arrived WHERE assigned_action_id IS NOT NULL LOOP
          PERFORM FROM staff_actions WHERE id = named.assigned_action_id;
          IF NOT FOUND THEN
            RAISE foreign_key_violation
              USING MESSAGE = 'a proxy that was assigned by nothing that staff did', CONSTRAINT = 'proxies_assigned_action_id_fkey';
          END IF;
        END LOOP;
        RETURN NULL;
      END $$;
      CREATE TRIGGER proxies_check_references AFTER INSERT ON proxies
        REFERENCING NEW TABLE AS arrived
        FOR EACH STATEMENT EXECUTE FUNCTION check_proxy_references();

      CREATE TRIGGER proxies_keep_references BEFORE UPDATE OF user_id, order_id, assigned_action_id ON proxies
        FOR EACH ROW EXECUTE FUNCTION refuse_change('a proxy stays with its order');

      ALTER TABLE proxies
        DROP CONSTRAINT proxies_order_id_fkey,
        DROP CONSTRAINT proxies_assigned_action_id_fkey;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE proxies
        ADD CONSTRAINT proxies_order_id_fkey FOREIGN KEY (order_id) REFERENCES orders (id),
        ADD CONSTRAINT proxies_assigned_action_id_fkey FOREIGN KEY (assigned_action_id) REFERENCES staff_actions (id);
      DROP TRIGGER proxies_keep_references ON proxies;
      DROP TRIGGER proxies_check_references ON proxies;
      DROP FUNCTION check_proxy_references();
    `);
  }
}
