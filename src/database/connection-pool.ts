import { Client, type ClientConfig, type Pool } from 'pg';
import type { DataSource } from 'typeorm';
import type { PostgresDriver } from 'typeorm/driver/postgres/PostgresDriver';

/** The pg pool of a data source, with its options: TypeORM does not expose them. */
export const connectionPool = (dataSource: DataSource): Pool =>
  (dataSource.driver as PostgresDriver).master as Pool;

/** A client, not yet connected, with the options of the pool's clients but outside the pool. */
export function clientOutsideThePool(dataSource: DataSource, changes: ClientConfig = {}): Client {
  const { options } = connectionPool(dataSource);
  return new Client({ ...options, password: options.password, keepAlive: true, ...changes });
}
