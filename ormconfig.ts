import { DataSource } from 'typeorm';
import { readEnvironment } from './src/config';
import { dataSourceOptions } from './src/database';

const { url, ownerUrl } = readEnvironment().database;

/** For the TypeORM command line: `DATABASE_URL=… npx typeorm -d dist/ormconfig.js migration:show`. */
export default new DataSource(
  dataSourceOptions({ url: ownerUrl ?? url ?? '', poolSize: 2, applicationName: 'typeorm' }),
);
