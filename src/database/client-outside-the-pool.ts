import { Client, type ClientConfig } from 'pg';
import type { DataSource } from 'typeorm';
import { connectionPool } from './connection-pool';

/** A client, not yet connected, with the options of the pool's clients but outside the pool. */
export function clientOutsideThePool(dataSource: DataSource, changes: ClientConfig = {}): Client {
  const { options } = connectionPool(dataSource);
  return new Client({ ...options, password: options.password, keepAlive: true, ...changes });
}
