import { DataSource, type EntityManager } from 'typeorm';
import { dataSourceOptions } from '../src/database';
import { entities } from '../src/globals.module';
import { createTestDatabase, type TestDatabase } from './support/test-database';

/**
 * TypeORM compares constraints by name alone. Here PostgreSQL reads what an entity says, and the two are
 * compared as it writes them: so the states of an order, for one, are the same in the code and in the
 * database.
 */
describe('The migrated database has', () => {
  let database: TestDatabase;
  let dataSource: DataSource;

  beforeAll(async () => {
    database = await createTestDatabase();
    dataSource = await new DataSource({
      ...dataSourceOptions({ url: database.ownerUrl, poolSize: 2, applicationName: 'test' }),
      entities,
    }).initialize();
  });
  afterAll(async () => {
    await dataSource.destroy();
    await database.drop();
  });

  /** Runs the work in a transaction that leaves no trace. */
  async function tentatively<Result>(work: (manager: EntityManager) => Promise<Result>): Promise<Result> {
    const runner = dataSource.createQueryRunner();
    await runner.startTransaction();
    try {
      return await work(runner.manager);
    } finally {
      await runner.rollbackTransaction();
      await runner.release();
    }
  }

  it('the check constraints of the entities', async () => {
    const inDatabase: Record<string, string> = {};
    const inCode: Record<string, string> = {};
    await tentatively(async (manager) => {
      const definitionOf = async (table: string, name: string): Promise<string> => {
        const [row] = await manager.query<{ text: string }[]>(
          `SELECT replace(pg_get_constraintdef(oid), ' NOT VALID', '') AS text FROM pg_constraint
            WHERE conrelid = $1::regclass AND conname = $2`,
          [table, name],
        );
        return row?.text ?? 'missing';
      };
      for (const { tableName, checks } of dataSource.entityMetadatas) {
        for (const { name, expression } of checks) {
          await manager.query(`ALTER TABLE ${tableName} ADD CONSTRAINT read CHECK (${expression}) NOT VALID`);
          inCode[name] = await definitionOf(tableName, 'read');
          inDatabase[name] = await definitionOf(tableName, name);
          await manager.query(`ALTER TABLE ${tableName} DROP CONSTRAINT read`);
        }
      }
    });
    expect(Object.keys(inCode)).toContain('orders_state_check');
    expect(inDatabase).toEqual(inCode);
  });

  it('the conditions of the partial indexes of the entities', async () => {
    const inDatabase: Record<string, string> = {};
    const inCode: Record<string, string> = {};
    await tentatively(async (manager) => {
      const conditionOf = async (name: string): Promise<string> => {
        const [row] = await manager.query<{ text: string }[]>(
          'SELECT pg_get_expr(indpred, indrelid) AS text FROM pg_index WHERE indexrelid = $1::regclass',
          [name],
        );
        return row?.text ?? 'missing';
      };
      for (const { tableName, indices } of dataSource.entityMetadatas) {
        for (const { name, where } of indices) {
          if (where === undefined) continue;
          await manager.query(`CREATE INDEX read ON ${tableName} ((true)) WHERE ${where}`);
          inCode[name] = await conditionOf('read');
          inDatabase[name] = await conditionOf(name);
          await manager.query('DROP INDEX read');
        }
      }
    });
    expect(Object.keys(inCode)).toContain('orders_open_prolongation_key');
    expect(inDatabase).toEqual(inCode);
  });
});
