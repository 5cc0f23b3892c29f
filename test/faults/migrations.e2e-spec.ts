import { AbstractLogger, type DataSource, type MigrationInterface, type QueryRunner } from 'typeorm';
import { migrate, migrations, thisRelease } from '../../src/database';
import { eventually } from '../support/built-service';
import { lockRow } from '../support/table-lock';
import { connectAsOwner, createTestDatabase, type TestDatabase } from '../support/test-database';

class ColumnOfOrders9000000000001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE orders ADD COLUMN colour text');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE orders DROP COLUMN colour');
  }
}

let database: TestDatabase;
let owner: DataSource;

beforeAll(async () => {
  // TypeORM prints which migration has failed.
  jest.spyOn(AbstractLogger.prototype, 'logMigration').mockImplementation();
  database = await createTestDatabase();
  owner = await connectAsOwner(database);
});
afterAll(async () => {
  await owner.destroy();
  await database.drop();
  jest.restoreAllMocks();
});

const waitsForLock = (): Promise<unknown[]> =>
  owner.query(`SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`);

it('Migrating lets others pass while it cannot get a table for itself, and tries again', async () => {
  const reader = await lockRow(owner, 'SELECT FROM orders');
  const migrating = migrate(database, {
    ...thisRelease(),
    migrations: [...migrations, ColumnOfOrders9000000000001],
  });
  await eventually(async () => (await waitsForLock()).length > 0);
  await owner.query('SELECT FROM orders');
  await eventually(async () => (await waitsForLock()).length === 0);
  await reader.release();
  expect(await migrating).toEqual([ColumnOfOrders9000000000001.name]);
});
