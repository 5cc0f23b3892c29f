import { Client, type ClientConfig, type Pool } from 'pg';
import type { DataSource } from 'typeorm';
import type { PostgresDriver } from 'typeorm/driver/postgres/PostgresDriver';
import { ServiceClient } from './service-client';

export const connectionPool = (dataSource: DataSource): Pool =>
  (dataSource.driver as PostgresDriver).master as Pool;

export function clientOutsideThePool(dataSource: DataSource, changes: ClientConfig = {}): Client {
  const { options } = connectionPool(dataSource);
  return new Client({ ...options, password: options.password, keepAlive: true, ...changes });
}

/** Registers a callback that runs whenever this process has committed events. */
export function onEventsWritten(dataSource: DataSource, call: () => void): void {
  connectionPool(dataSource).on('release', (_error, client) => {
    if (!(client instanceof ServiceClient) || !client.hasWrittenEvents) return;
    client.hasWrittenEvents = false;
    call();
  });
}
