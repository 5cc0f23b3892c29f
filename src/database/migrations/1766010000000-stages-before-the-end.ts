import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * How far the end of a proxy was announced. Existing proxies begin with nothing announced: those that end soon
 * are announced once, by their present stage.
 */
export class StagesBeforeTheEnd1766010000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE proxies ADD COLUMN told_hours integer NOT NULL DEFAULT 32767;

      CREATE FUNCTION begin_stages() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        NEW.told_hours := least(32767, greatest(0, round(extract(epoch FROM NEW.date_end - now()) / 3600)));
        RETURN NEW;
      END $$;

      CREATE TRIGGER proxies_begin_stages BEFORE INSERT ON proxies
        FOR EACH ROW WHEN (NEW.date_end IS NOT NULL) EXECUTE FUNCTION begin_stages();
      CREATE TRIGGER proxies_begin_stages_anew BEFORE UPDATE ON proxies
        FOR EACH ROW WHEN (NEW.date_end > coalesce(OLD.date_end, '-infinity') + interval '6 hours')
        EXECUTE FUNCTION begin_stages();
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP TRIGGER proxies_begin_stages ON proxies;
      DROP TRIGGER proxies_begin_stages_anew ON proxies;
      DROP FUNCTION begin_stages();
      ALTER TABLE proxies DROP COLUMN told_hours;
    `);
  }
}
