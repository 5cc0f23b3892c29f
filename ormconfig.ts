import { DataSource } from 'typeorm';
import { readEnvironment } from './src/config';
import { dataSourceOptions } from './src/database';
import { entities } from './src/globals.module';

/** For the TypeORM command line: `DATABASE_URL=… npx typeorm -d dist/ormconfig.js migration:show`. */
export default new DataSource({
  ...dataSourceOptions({
    url: readEnvironment().database.url ?? '',
    poolSize: 2,
    applicationName: 'typeorm',
  }),
  entities,
});
