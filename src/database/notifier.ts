import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import type { Client } from 'pg';
import { DataSource } from 'typeorm';
import { messageOf } from '../common';
import { clientOutsideThePool } from './connection-pool';
import { queryRows } from './sql';

/** Keeps a payload below PostgreSQL's limit of 8 kB: an id takes up to 17 bytes. */
const IDS_PER_PAYLOAD = 400;
const CHANNEL = 'changed_rows';
const POLL_INTERVAL_MS = 1000;
const LONGEST_WAIT_DRAINING_MS = 1000;

/** Receives the ids of changed rows, and `undefined` each second, in case notifications were lost. */
export type NotificationListener = (ids: ReadonlySet<number> | undefined) => void;

/**
 * Notifies all processes of changed rows through LISTEN and NOTIFY. Listeners also poll, because
 * notifications are lost while the connection is down, or behind a pooler that does not keep sessions.
 */
@Injectable()
export class Notifier implements OnModuleDestroy {
  private readonly logger = new Logger(Notifier.name);
  private readonly listeners: { readonly kind: string; readonly listener: NotificationListener }[] = [];
  private readonly waits = new Set<() => void>();
  private client: Client | undefined;
  private polling: NodeJS.Timeout | undefined;
  private state: 'open' | 'draining' | 'ended' | 'closed' = 'open';

  constructor(private readonly dataSource: DataSource) {}

  onModuleDestroy(): void {
    this.state = 'closed';
    clearInterval(this.polling);
    if (this.client) this.drop(this.client, 'closed');
  }

  /** @param kind must not contain a comma */
  listen(kind: string, listener: NotificationListener): void {
    this.listeners.push({ kind, listener });
    if (this.polling || this.state === 'closed') return;
    this.connect();
    this.polling = setInterval(() => this.poll(), POLL_INTERVAL_MS);
  }

  /** Notifies in a separate transaction, because PostgreSQL serializes commits that send notifications. */
  send(kind: string, ids: readonly number[]): void {
    const payloads = Array.from({ length: Math.ceil(ids.length / IDS_PER_PAYLOAD) }, (_, at) =>
      [kind, ...ids.slice(at * IDS_PER_PAYLOAD, (at + 1) * IDS_PER_PAYLOAD)].join(','),
    );
    if (payloads.length === 0) return;
    queryRows(this.dataSource, 'SELECT pg_notify($1, payload) FROM unnest($2::text[]) AS payload', [
      CHANNEL,
      payloads,
    ]).catch((error: unknown) => this.logger.debug(`could not send a notification: ${messageOf(error)}`));
  }

  /** Waits until `end` is called, time is up, the client disconnects or the replica stops. Never rejects. */
  async untilEnded(timeoutMs: number, hungUp: AbortSignal, begin: (end: () => void) => void): Promise<void> {
    if (this.state === 'ended' || this.state === 'closed') return;
    const longestMs = this.state === 'draining' ? LONGEST_WAIT_DRAINING_MS : Infinity;
    let end = (): void => undefined;
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      end = resolve;
      timer = setTimeout(end, Math.min(timeoutMs, longestMs));
      hungUp.addEventListener('abort', end);
      this.waits.add(end);
      begin(end);
      if (hungUp.aborted) end();
    });
    clearTimeout(timer);
    hungUp.removeEventListener('abort', end);
    this.waits.delete(end);
  }

  get isEnding(): boolean {
    return this.state !== 'open';
  }

  drain(): void {
    if (this.state === 'open') this.state = 'draining';
    for (const end of this.waits) end();
  }

  end(): void {
    this.state = 'ended';
    for (const end of this.waits) end();
  }

  private poll(): void {
    if (!this.client) this.connect();
    for (const { listener } of this.listeners) listener(undefined);
  }

  private connect(): void {
    const client = clientOutsideThePool(this.dataSource);
    this.client = client;
    client.on('error', (error) => this.drop(client, error));
    client.on('end', () => this.drop(client, 'the connection ended'));
    client.on('notification', ({ payload = '' }) => this.notify(payload));
    client
      .connect()
      .then(() => client.query(`LISTEN ${CHANNEL}`))
      .catch((error: unknown) => this.drop(client, error));
  }

  private notify(payload: string): void {
    const [kind, ...ids] = payload.split(',');
    const changed = new Set(ids.map(Number));
    for (const { kind: own, listener } of this.listeners) if (own === kind) listener(changed);
  }

  private drop(client: Client, why: unknown): void {
    if (client !== this.client) return;
    this.client = undefined;
    client.removeAllListeners('notification');
    if (this.state !== 'closed') this.logger.debug(`could not connect for notifications: ${messageOf(why)}`);
    // Not awaited, because pg never reports the end of a lost connection.
    client.end().catch(() => undefined);
  }
}
