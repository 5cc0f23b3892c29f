import type { QueryRunner } from 'typeorm';
import { installFunctions, type InstallsFunctions } from '../install-functions';

/** A start on another server or timeline than the last one begins a recovery. */
export class KnownServer1767830000000 implements InstallsFunctions {
  readonly functions = ['present_server'];

  async up(runner: QueryRunner): Promise<void> {
    await installFunctions(runner, this);
    await runner.query(`
      -- The PostgreSQL server and the timeline of the last start.
      CREATE TABLE known_server (
        singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
        system_identifier bigint NOT NULL,
        timeline bigint NOT NULL
      );
      INSERT INTO known_server (system_identifier, timeline)
        SELECT system_identifier, timeline FROM present_server();

      -- Whether a start began it, because the server had changed.
      ALTER TABLE recoveries ADD COLUMN is_precaution boolean NOT NULL DEFAULT false`);
  }

  async down(): Promise<void> {
    throw new Error('Migrations go forward only.');
  }
}
