import { Logger } from '@nestjs/common';
import type { Client } from 'pg';
import type { DataSource } from 'typeorm';
import { messageOf } from '../common';
import { clientOutsideThePool } from './connection-pool';
import { queryRows } from './sql';

/** A payload has less than 8000 bytes, an id up to 16 digits and a comma. */
const IDS_PER_PAYLOAD = 400;
const RECONNECT_AFTER_MS = 1000;

/** Receives the ids of a hint; `undefined` if hints about any rows may have been lost until now. */
export type HintListener = (ids: ReadonlySet<number> | undefined) => void;

/**
 * Notifies all processes of changes of rows, by LISTEN and NOTIFY, on a separate connection outside the pool.
 * Hints are lost while the connection is lost, and behind a pooler that does not keep sessions, so waiting
 * code also polls the rows.
 */
export class Hints {
  private readonly logger = new Logger(Hints.name);
  private client: Client | undefined;
  private reconnectAtMs = -Infinity;
  private isClosed = false;
  private readonly listeners = new Set<HintListener>();

  /** @param channel a name in SQL */
  constructor(
    private readonly dataSource: DataSource,
    private readonly channel: string,
  ) {}

  /** @returns a function that removes the listener */
  listen(listener: HintListener): () => void {
    this.listeners.add(listener);
    this.stayConnected();
    return () => void this.listeners.delete(listener);
  }

  /** Connects if there are listeners, in the background. Call it regularly: connections can be lost. */
  stayConnected(): void {
    if (this.listeners.size === 0 || this.client || this.isClosed) return;
    if (performance.now() < this.reconnectAtMs) return;
    const client = clientOutsideThePool(this.dataSource);
    this.client = client;
    client.on('error', (error) => this.drop(client, error));
    client.on('end', () => this.drop(client, 'the connection ended'));
    client.on('notification', ({ payload = '' }) => this.notify(new Set(payload.split(',').map(Number))));
    client
      .connect()
      .then(() => client.query(`LISTEN ${this.channel}`))
      .then(() => this.notify(undefined))
      .catch((error: unknown) => this.drop(client, error));
  }

  /**
   * Sends a hint in the background. It is never part of another transaction: PostgreSQL commits transactions
   * with notifications one after the other.
   */
  send(ids: readonly number[]): void {
    const payloads = Array.from({ length: Math.ceil(ids.length / IDS_PER_PAYLOAD) }, (_, at) =>
      ids.slice(at * IDS_PER_PAYLOAD, (at + 1) * IDS_PER_PAYLOAD).join(','),
    );
    if (payloads.length === 0) return;
    queryRows(this.dataSource, 'SELECT pg_notify($1, payload) FROM unnest($2::text[]) AS payload', [
      this.channel,
      payloads,
    ]).catch((error: unknown) => this.logger.debug(`a hint was not sent: ${messageOf(error)}`));
  }

  close(): void {
    this.isClosed = true;
    if (this.client) this.drop(this.client, 'closed');
  }

  private notify(ids: ReadonlySet<number> | undefined): void {
    for (const listener of this.listeners) listener(ids);
  }

  private drop(client: Client, why: unknown): void {
    if (client !== this.client) return;
    this.client = undefined;
    this.reconnectAtMs = performance.now() + RECONNECT_AFTER_MS;
    if (!this.isClosed) this.logger.debug(`no connection for hints: ${messageOf(why)}`);
    // Not awaited: pg never reports the end of a lost connection.
    client.end().catch(() => undefined);
  }
}
