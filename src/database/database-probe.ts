import { Socket } from 'node:net';
import type { Client } from 'pg';
import type { DataSource } from 'typeorm';
import { clientOutsideThePool } from './client-outside-the-pool';
import { differenceOf, isBeforeFirstMigration, type SchemaDifference } from './schema-version';

/** What the database can do for this version of the service. */
export interface DatabaseState extends SchemaDifference {
  /** Whether it refuses what writes: a standby, or one that was told to. */
  readonly isReadOnly: boolean;
}

/** Load balancers ask every second or less often, and there may be several. */
const MAX_AGE_MS = 500;
/** From opening the connection to the answer. */
const TIMEOUT_MS = 2000;

const STATEMENT = `
  SELECT pg_is_in_recovery() OR current_setting('transaction_read_only')::boolean AS "isReadOnly",
         ARRAY(SELECT name::text FROM migrations) AS applied`;

interface Connection {
  readonly client: Client;
  readonly socket: Socket;
}

/**
 * Asks the database for its state, on a connection that is none of the pool: a pool that is in use says
 * nothing about the database. However many ask, the database is asked twice a second at most.
 */
export class DatabaseProbe {
  private connection: Connection | undefined;
  private latest: { readonly askedAtMs: number; readonly answer: Promise<DatabaseState> } | undefined;
  private isAsking = false;

  constructor(private readonly dataSource: DataSource) {}

  /**
   * The state of half a second ago at most.
   *
   * @throws Error when the database does not tell within two seconds
   */
  state(): Promise<DatabaseState> {
    const nowMs = performance.now();
    if (this.latest && (this.isAsking || nowMs - this.latest.askedAtMs < MAX_AGE_MS)) {
      return this.latest.answer;
    }
    this.latest = { askedAtMs: nowMs, answer: this.ask() };
    return this.latest.answer;
  }

  close(): void {
    const { client } = this.connection ?? {};
    this.connection = undefined;
    // Nobody waits for it: pg never says that a lost connection has ended.
    client?.end().catch(() => undefined);
  }

  private async ask(): Promise<DatabaseState> {
    this.isAsking = true;
    // The next one may reach another server, which the address has come to name.
    const timer = setTimeout(() => this.drop(), TIMEOUT_MS);
    try {
      const client = await this.connect();
      const { rows } = await client.query<{ isReadOnly: boolean; applied: string[] }>(STATEMENT);
      const { isReadOnly = true, applied = [] } = rows[0] ?? {};
      if (isReadOnly) this.drop();
      return { isReadOnly, ...differenceOf(applied) };
    } catch (error) {
      if (isBeforeFirstMigration(error)) return { isReadOnly: false, ...differenceOf([]) };
      this.drop();
      throw error;
    } finally {
      clearTimeout(timer);
      this.isAsking = false;
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
    // A connection that is lost between two questions.
    client.on('error', () => this.drop(connection));
    await client.connect();
    return client;
  }

  /** Cuts the connection, which ends what waits for an answer on it. */
  private drop(connection = this.connection): void {
    if (connection === this.connection) this.connection = undefined;
    connection?.socket.destroy();
  }
}
