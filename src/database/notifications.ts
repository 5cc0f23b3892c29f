import { setTimeout as pause } from 'node:timers/promises';
import { Client, type Pool } from 'pg';
import type { DataSource } from 'typeorm';
import type { PostgresDriver } from 'typeorm/driver/postgres/PostgresDriver';
import { inTransaction } from './transaction';

/** For how long after it was asked the database is taken to have told everything. */
const CURRENT_MS = 1000;
/** So long after a notification nothing is relied on: whoever caused it comes for the lock. */
const REST_MS = 100;
/** After a failure, which is in the log. */
const RECONNECT_MS = 2000;
const ANSWER_TIMEOUT_MS = 5000;

/**
 * Hears what is notified on a channel, over a connection of its own. What is kept between two notifications is never behind what
 * {@link untilHeard} has waited for, at any process: each holds a lock, shared, while it relies on what it keeps, and lets go of it after a
 * notification for a while; and who is not answered for a second relies on nothing any more.
 */
export class Notifications {
  private client: Client | undefined;
  private hasLock = false;
  private currentUntilMs = -Infinity;
  private restUntilMs = -Infinity;
  private count = 0;
  private isClosed = false;
  private asking: Promise<unknown> = Promise.resolve();
  private readonly lock: string;

  /** @param channel a name in SQL */
  constructor(
    private readonly dataSource: DataSource,
    private readonly channel: string,
  ) {
    this.lock = `hashtextextended('${channel}', 0)`;
  }

  /** A number that is another one after each notification. Undefined while one may have been missed. */
  current(): number | undefined {
    return performance.now() < this.currentUntilMs ? this.count : undefined;
  }

  /** Connects where needed, and asks for a sign of life. To be called several times a second. @throws Error of pg */
  async keepUp(): Promise<void> {
    if (this.isClosed || performance.now() < this.restUntilMs) return;
    const client = this.client ?? (await this.listen());
    if (this.isClosed) {
      // Meanwhile. An open connection would keep the process from ending.
      await client.end();
      return;
    }
    this.client = client;
    const { count } = this;
    const askedAtMs = performance.now();
    try {
      // What was committed before has been heard when it is answered.
      await this.ask(client, this.hasLock ? 'SELECT' : `SELECT pg_advisory_lock_shared(${this.lock})`);
    } catch (error) {
      if (this.isClosed) return;
      this.drop(client);
      throw error;
    }
    if (client !== this.client) return;
    this.hasLock = true;
    if (count === this.count) this.currentUntilMs = askedAtMs + CURRENT_MS;
    else this.letGo(client);
  }

  /**
   * Until everybody has heard what was committed before, or relies on nothing: milliseconds as a rule, a second at most. Never
   * rejects.
   */
  async untilHeard(): Promise<void> {
    const done = new AbortController();
    const lapse = pause(CURRENT_MS, undefined, { signal: done.signal }).catch(() => undefined);
    await Promise.race([lapse, this.lockOnce().catch(() => lapse)]);
    done.abort();
  }

  async close(): Promise<void> {
    this.isClosed = true;
    const { client } = this;
    this.client = undefined;
    this.currentUntilMs = -Infinity;
    await client?.end();
  }

  private lockOnce(): Promise<void> {
    return inTransaction(this.dataSource, async (manager) => {
      await manager.query(`SET LOCAL lock_timeout = ${CURRENT_MS}`);
      await manager.query(`SELECT pg_advisory_xact_lock(${this.lock})`);
    });
  }

  private async listen(): Promise<Client> {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    const { options } = (this.dataSource.driver as PostgresDriver).master as Pool;
    const client = new Client({ ...options, password: options.password, query_timeout: ANSWER_TIMEOUT_MS });
    client.on('error', () => this.drop(client));
    client.on('notification', () => this.hear(client));
    try {
      await client.connect();
      await client.query(`LISTEN ${this.channel}`);
    } catch (error) {
      this.drop(client);
      throw error;
    }
    // It may be that something was not heard before.
    this.count += 1;
    this.hasLock = false;
    return client;
  }

  private hear(client: Client): void {
    this.count += 1;
    this.restUntilMs = performance.now() + REST_MS;
    this.currentUntilMs = -Infinity;
    if (this.hasLock) this.letGo(client);
  }

  private letGo(client: Client): void {
    this.hasLock = false;
    this.ask(client, `SELECT pg_advisory_unlock_shared(${this.lock})`).catch(() => this.drop(client));
  }

  /** One statement after the other: pg wants it so. */
  private ask(client: Client, statement: string): Promise<unknown> {
    this.asking = this.asking.catch(() => undefined).then(() => client.query(statement));
    return this.asking;
  }

  private drop(client: Client): void {
    if (client === this.client) {
      this.client = undefined;
      this.currentUntilMs = -Infinity;
    }
    this.restUntilMs = performance.now() + RECONNECT_MS;
    // Not waited for: of a connection that is lost, pg never says that it has ended.
    client.end().catch(() => undefined);
  }
}
