import { DataSource } from 'typeorm';
import { eventually } from '../../test/support/built-service';
import { createTestDatabase, type TestDatabase } from '../../test/support/test-database';
import { dataSourceOptions } from './data-source-options';
import { Notifications } from './notifications';

describe('Notifications', () => {
  let database: TestDatabase;
  let dataSource: DataSource;

  beforeAll(async () => {
    database = await createTestDatabase();
    dataSource = await new DataSource(
      dataSourceOptions({ url: database.url, poolSize: 1, applicationName: 'notifications-spec' }),
    ).initialize();
  });
  afterAll(async () => {
    await dataSource.destroy();
    await database.drop();
  });

  const connections = async (): Promise<number> => {
    const rows = await dataSource.query<unknown[]>(
      'SELECT FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
    );
    return rows.length;
  };

  it.each([0, 1, 2, 5, 10, 20])(
    'leave no connection when they are closed %i ms after the first',
    async (ms) => {
      const notifications = new Notifications(dataSource, 'somewhere');
      const first = notifications.keepUp();
      await new Promise((resolve) => setTimeout(resolve, ms));
      await notifications.close();
      await first;
      expect(notifications.current()).toBeUndefined();
      await eventually(async () => (await connections()) === 0);
    },
  );

  it('are current once the database has answered, and another number after each', async () => {
    const notifications = new Notifications(dataSource, 'somewhere');
    await notifications.keepUp();
    const before = notifications.current();
    expect(before).toEqual(expect.any(Number));
    await dataSource.query('NOTIFY somewhere');
    await eventually(async () => {
      await notifications.keepUp();
      return ![undefined, before].includes(notifications.current());
    });
    await notifications.close();
  });
});
