import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Clock, networksOf } from '../../common';
import { AppConfig } from '../../config';
import { queryRows } from '../../database';
import { Jobs } from '../../jobs';
import type { ClosedConnections } from '../connections';
import { TooManyRequests } from './limits.errors';
import { minuteOf, RequestCounter, WINDOW_MS } from './request-counter';

/** Maximum number of tokens, users or links that a counter tracks. Each takes about 200 bytes. */
const MAX_CALLERS = 50_000;
/** Bounds the memory that clients without a token can use. */
const MAX_NETWORKS = 10_000;
/** Multiplies the limit for a /48, because a /48 contains 65,536 /64s. */
const TIMES_FOR_WIDE_NETWORK = 4;
/** Limited so that a leaked link cannot keep a replica busy. */
const LINK_REQUESTS_PER_MINUTE = 1200;
/** Per user. The app signs in whenever it is opened, and each sign-in writes an event. */
const SIGN_INS_PER_MINUTE = 20;
/** Per address. Each registration adds a row. */
const REGISTRATIONS_PER_MINUTE = 20;
/** Per user. Each test sends a request to a URL that the customer chose. */
const WEBHOOK_TESTS_PER_MINUTE = 10;

/** How often replicas share counts. In between, one replica may admit a key that another one refuses. */
const SHARE_INTERVAL_MS = 1000;

interface Counted {
  readonly tokenId: number;
  readonly userId: number;
}

type Key = number | string;

type CountedBy = readonly [counter: RequestCounter<Key>, key: Key];

interface HeaderSink {
  setHeader(name: string, value: string): unknown;
}

interface Remaining {
  readonly counter: Pick<RequestCounter, 'name' | 'limit'>;
  readonly left: number;
}

/** Returns two counters: one for IPv4 addresses and IPv6 /64s, and one for IPv6 /48s. */
const byNetwork = (name: string, limit: number): readonly RequestCounter[] => [
  new RequestCounter(name, limit, MAX_NETWORKS),
  new RequestCounter(`${name}-48`, TIMES_FOR_WIDE_NETWORK * limit, MAX_NETWORKS),
];

/** Counts in memory, so that no request waits for the database. Replicas share their counts each second. */
@Injectable()
export class RequestLimits {
  private readonly tokens: RequestCounter;
  private readonly users: RequestCounter;
  private readonly links: RequestCounter;
  private readonly signIns = new RequestCounter('sign-in', SIGN_INS_PER_MINUTE, MAX_CALLERS);
  private readonly webhookTests = new RequestCounter('webhook-test', WEBHOOK_TESTS_PER_MINUTE, MAX_CALLERS);
  private readonly full = new RequestCounter('connections-full', 1, 2);
  private readonly failures: readonly RequestCounter[];
  private readonly pages: readonly RequestCounter[];
  private readonly registrations = byNetwork('registration', REGISTRATIONS_PER_MINUTE);
  /** The last minute in which an address reached the limit on failed authentications. */
  private barredMinute = 0;
  private cleanedMinute = 0;
  private sharing = Promise.resolve();

  constructor(
    { limits, tuning }: AppConfig,
    private readonly dataSource: DataSource,
    private readonly clock: Clock,
    jobs: Jobs,
  ) {
    jobs.every('request-counts', SHARE_INTERVAL_MS, () => this.share());
    this.tokens = new RequestCounter('token', limits.tokenRequestsPerMinute, MAX_CALLERS);
    this.users = new RequestCounter('user', limits.userRequestsPerMinute, MAX_CALLERS);
    const linkRequests = tuning.linkRequestsPerMinute ?? LINK_REQUESTS_PER_MINUTE;
    this.links = new RequestCounter('link', linkRequests, MAX_CALLERS);
    this.failures = byNetwork('address', limits.addressFailuresPerMinute);
    this.pages = byNetwork('page', limits.addressFailuresPerMinute);
  }

  /** Counts a request. The response shows the limits once half of either is used. @throws TooManyRequests */
  admit({ tokenId, userId }: Counted, response: HeaderSink): void {
    this.take(response, [this.tokens, tokenId], [this.users, userId]);
  }

  /** Does not count against the link's user, because anyone may use a leaked link. @throws TooManyRequests */
  admitLink(linkId: number, response: HeaderSink): void {
    this.take(response, [this.links, linkId]);
  }

  /** @throws TooManyRequests */
  admitSignIn(telegramId: number): void {
    this.take(null, [this.signIns, telegramId]);
  }

  /** @throws TooManyRequests */
  admitWebhookTest(userId: number): void {
    this.take(null, [this.webhookTests, userId]);
  }

  /** @throws TooManyRequests */
  admitPage(address: string | null): void {
    this.take(null, ...keysOf(this.pages, address));
  }

  /** @throws TooManyRequests */
  admitRegistration(address: string | null): void {
    this.take(null, ...keysOf(this.registrations, address));
  }

  /** Counts an event under all keys, or under none if one of them has reached its limit. */
  private take(response: HeaderSink | null, ...keys: readonly CountedBy[]): void {
    const nowMs = this.nowMs();
    const before = keys.map(([counter, key]) => ({ counter, left: counter.left(key, nowMs) }));
    if (before.some(({ left }) => left === 0)) throw this.refusal(nowMs, before);
    for (const [counter, key] of keys) counter.add(key, nowMs);
    if (!response || before.every(({ counter, left }) => left > counter.limit / 2)) return;
    const after = before.map(({ counter, left }) => ({ counter, left: left - 1 }));
    for (const [name, value] of Object.entries(this.fields(nowMs, after))) response.setHeader(name, value);
  }

  /** Undoes the count of a request that turned out to be a replay. */
  giveBack({ tokenId, userId }: Counted): void {
    const nowMs = this.nowMs();
    this.tokens.add(tokenId, nowMs, -1);
    this.users.add(userId, nowMs, -1);
  }

  /** Counts a failed authentication: a request without a valid token, or with an unknown link secret. */
  countFailure(address: string | null): void {
    const nowMs = this.nowMs();
    for (const [counter, key] of keysOf(this.failures, address)) {
      counter.add(key, nowMs);
      if (counter.left(key, nowMs) === 0) this.barredMinute = minuteOf(nowMs);
    }
  }

  countFull(closed: ClosedConnections): void {
    this.full.add(closed, this.nowMs());
  }

  /** Returns which connections replicas closed at their limits in the current and the previous minute. */
  async closedConnections(): Promise<ReadonlySet<ClosedConnections>> {
    await this.share();
    const counted = await queryRows<{ key: ClosedConnections }>(
      this.dataSource,
      'SELECT DISTINCT key FROM request_counts WHERE name = $1',
      [this.full.name],
    );
    return new Set(counted.map(({ key }) => key));
  }

  /** Whether any address has too many failed authentications in this minute. */
  get barsAddresses(): boolean {
    return this.barredMinute !== 0 && this.barredMinute === minuteOf(this.nowMs());
  }

  /** Returns the refusal for an address with too many failed authentications in this minute. */
  refusalOf(address: string | null): TooManyRequests | null {
    const nowMs = this.nowMs();
    const remaining = keysOf(this.failures, address).map(([counter, key]) => ({
      counter,
      left: counter.left(key, nowMs),
    }));
    return remaining.every(({ left }) => left > 0) ? null : this.refusal(nowMs, remaining);
  }

  /** Stores everything that was counted before the call. Calls run one after the other. */
  share(): Promise<void> {
    const share = () => this.shareCounts();
    this.sharing = this.sharing.then(share, share);
    return this.sharing;
  }

  private async shareCounts(): Promise<void> {
    const ofNetworks = [...this.failures, ...this.pages, ...this.registrations, this.full];
    const ofIds = [this.tokens, this.users, this.links, this.signIns, this.webhookTests];
    const counters = [...ofIds, ...ofNetworks];
    const taken = counters.flatMap((counter) =>
      counter.takeUnshared().map((unshared) => ({ ...unshared, counter })),
    );
    if (taken.length > 0) {
      const totals = await queryRows<{ name: string; key: string; minute: number; total: number }>(
        this.dataSource,
        `INSERT INTO request_counts (name, key, minute, total)
         SELECT name, key, minute, count
           FROM unnest($1::text[], $2::text[], $3::bigint[], $4::int[]) AS counted (name, key, minute, count)
          ORDER BY name, key, minute
         ON CONFLICT (name, key, minute) DO UPDATE SET total = request_counts.total + excluded.total
         RETURNING name, key, minute, total`,
        [
          taken.map(({ counter }) => counter.name),
          taken.map(({ key }) => String(key)),
          taken.map(({ minute }) => minute),
          taken.map(({ count }) => count),
        ],
      );
      for (const { name, key, minute, total } of totals) {
        const counter = counters.find((one) => one.name === name);
        if (!counter) continue;
        counter.learn(ofIds.includes(counter) ? Number(key) : key, minute, total);
        if (this.failures.includes(counter) && total >= counter.limit) {
          this.barredMinute = Math.max(this.barredMinute, minute);
        }
      }
    }
    await this.forgetEarlierMinutes();
  }

  private async forgetEarlierMinutes(): Promise<void> {
    const minute = minuteOf(this.nowMs());
    if (minute === this.cleanedMinute) return;
    await queryRows(this.dataSource, 'DELETE FROM request_counts WHERE minute < $1', [minute - 1]);
    this.cleanedMinute = minute;
  }

  private refusal(nowMs: number, remaining: readonly Remaining[]): TooManyRequests {
    return new TooManyRequests(secondsLeft(nowMs), this.fields(nowMs, remaining));
  }

  /** Returns the header fields of draft-ietf-httpapi-ratelimit-headers-10. */
  private fields(nowMs: number, remaining: readonly Remaining[]): Record<string, string> {
    const limited = remaining.filter(({ counter }) => counter.limit > 0);
    const policies = limited.map(
      ({ counter: { name, limit } }) => `"${name}";q=${limit};w=${WINDOW_MS / 1000}`,
    );
    const states = limited.map(
      ({ counter: { name }, left }) => `"${name}";r=${left};t=${secondsLeft(nowMs)}`,
    );
    return { 'RateLimit-Policy': policies.join(', '), RateLimit: states.join(', ') };
  }

  private nowMs(): number {
    return this.clock.now().getTime();
  }
}

const secondsLeft = (nowMs: number): number => Math.ceil((WINDOW_MS - (nowMs % WINDOW_MS)) / 1000);

function keysOf(counters: readonly RequestCounter[], address: string | null): CountedBy[] {
  const networks = networksOf(address);
  return counters.flatMap((counter, at): CountedBy[] => {
    const network = networks[at];
    return network === undefined ? [] : [[counter, network]];
  });
}
