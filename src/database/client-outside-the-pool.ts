import { Client, type ClientConfig } from 'pg';
import type { DataSource } from 'typeorm';
import { connectionPool } from './connection-pool';

/** A client that connects as those of the pool do, and is none of them. It is not connected yet. */
export function clientOutsideThePool(dataSource: DataSource, changes: ClientConfig = {}): Client {
  const { options } = connectionPool(dataSource);
  return new Client({ ...options, password: options.password, keepAlive: true, ...changes });
}
