import { Client, type ClientConfig, type Pool } from 'pg';
import type { DataSource } from 'typeorm';
import type { PostgresDriver } from 'typeorm/driver/postgres/PostgresDriver';

/** A client that connects as those of the pool do, and is none of them. It is not connected yet. */
export function clientOutsideThePool(dataSource: DataSource, changes: ClientConfig = {}): Client {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const { options } = (dataSource.driver as PostgresDriver).master as Pool;
  return new Client({ ...options, password: options.password, keepAlive: true, ...changes });
}
