import { Socket } from 'node:net';
import type { Client } from 'pg';
import type { DataSource } from 'typeorm';
import { clientOutsideThePool } from './connection-pool';
import {
  EMPTY_STATE,
  isBeforeFirstMigration,
  missingFrom,
  SCHEMA_STATE,
  type SchemaState,
} from './schema-version';

export interface DatabaseState {
  /** Pending migrations and functions. */
  readonly missing: readonly string[];
  readonly isReadOnly: boolean;
}

const MAX_AGE_MS = 500;
const TIMEOUT_MS = 2000;

const STATEMENT = `
  SELECT pg_is_in_recovery() OR current_setting('transaction_read_only')::boolean AS "isReadOnly",
         ${SCHEMA_STATE}`;

/** Queries the database at most twice a second, on a connection outside the pool. */
export class DatabaseProbe {
  private connection: { readonly client: Client; readonly socket: Socket } | undefined;
  private latest: { readonly queriedAtMs: number; readonly state: Promise<DatabaseState> } | undefined;
  private isQuerying = false;

  constructor(private readonly dataSource: DataSource) {}

  /** @throws Error if the database does not respond */
  state(): Promise<DatabaseState> {
    const nowMs = performance.now();
    if (this.latest && (this.isQuerying || nowMs - this.latest.queriedAtMs < MAX_AGE_MS)) {
      return this.latest.state;
    }
    this.latest = { queriedAtMs: nowMs, state: this.query() };
    return this.latest.state;
  }

  close(): void {
    const { client } = this.connection ?? {};
    this.connection = undefined;
    // Not awaited, because pg never reports the end of a lost connection.
    client?.end().catch(() => undefined);
  }

  private async query(): Promise<DatabaseState> {
    this.isQuerying = true;
    // Drop an unresponsive connection. After a failover, a new connection may reach a different server.
    const timer = setTimeout(() => this.drop(), TIMEOUT_MS);
    try {
      const client = await this.connect();
      const { rows } = await client.query<{ isReadOnly: boolean } & SchemaState>(STATEMENT);
      const { isReadOnly, ...state } = rows[0] ?? { isReadOnly: true, ...EMPTY_STATE };
      if (isReadOnly) this.drop();
      return { isReadOnly, missing: missingFrom(state) };
    } catch (error) {
      if (isBeforeFirstMigration(error)) return { isReadOnly: false, missing: missingFrom(EMPTY_STATE) };
      this.drop();
      throw error;
    } finally {
      clearTimeout(timer);
      this.isQuerying = false;
    }
  }

  private async connect(): Promise<Client> {
    if (this.connection) return this.connection.client;
    const socket = new Socket();
    const client = clientOutsideThePool(this.dataSource, {
      application_name: 'proxy-rental-service probe',
      stream: () => socket,
    });
    const connection = { client, socket };
    this.connection = connection;
    // An error between queries means that the connection was lost, so the last state may be outdated.
    client.on('error', () => {
      if (!this.isQuerying) this.latest = undefined;
      this.drop(connection);
    });
    await client.connect();
    return client;
  }

  private drop(connection = this.connection): void {
    if (connection === this.connection) this.connection = undefined;
    connection?.socket.destroy();
  }
}
