import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { DataSource } from 'typeorm';
import type { Caller } from '../auth';
import { atMost, Clock } from '../common';
import { batchedLookup, preparedRows } from '../database';

/** Version of a user's proxy list. A response made from it stays valid until the list has a new version. */
export interface ListRevision {
  readonly userId: number;
  /** Increases with every visible change in the database. */
  readonly revision: number;
  /** Unix milliseconds. No rental expires from `fromMs` until just before `untilMs`. */
  readonly fromMs: number;
  readonly untilMs: number;
  /** Number of the user's proxies when the revision was looked up. */
  readonly proxyCount: number;
}

/** @param source everything on which the response depends */
export function weakTag(source: string): string {
  return `W/"${createHash('sha256').update(source).digest('base64url').slice(0, 22)}"`;
}

/** Returns a weak tag, because the response may be newer than the revision, but never older. */
export function entityTag({ userId, revision, untilMs }: ListRevision, variant: string): string {
  return weakTag(`${userId} ${revision} ${untilMs} ${variant}`);
}

const MAX_USERS = 20_000;

/** Finds list revisions, usually without any query beyond the token lookup. */
@Injectable()
export class ListRevisionService {
  private readonly revisions = new LRUCache<number, ListRevision>(atMost(MAX_USERS));

  constructor(
    private readonly dataSource: DataSource,
    private readonly clock: Clock,
  ) {}

  /** Returns the same object while the revision stays the same. */
  async get({
    userId,
    proxiesRevision: revision,
  }: Pick<Caller, 'userId' | 'proxiesRevision'>): Promise<ListRevision> {
    const known = this.find(userId, revision);
    if (known) return known;
    const span = await this.lookUpSpan(userId);
    if (!span) throw new Error(`the database did not return when the next rental of user ${userId} ends`);
    // Look again, because a concurrent request may have stored the revision in the meantime.
    const stored = this.find(userId, revision);
    if (stored) return stored;
    const current = { userId, revision, ...span };
    this.revisions.set(userId, current);
    return current;
  }

  private find(userId: number, revision: number): ListRevision | undefined {
    const nowMs = this.clock.now().getTime();
    const known = this.revisions.get(userId);
    return known?.revision === revision && known.fromMs <= nowMs && nowMs < known.untilMs ? known : undefined;
  }

  private readonly lookUpSpan = batchedLookup(async (userIds: readonly number[]) => {
    const fromMs = this.clock.now().getTime();
    const spans = await preparedRows<{ userId: number; proxyCount: number; end: Date | null }>(
      this.dataSource,
      `SELECT user_id AS "userId", count(*) AS "proxyCount",
              min(date_end) FILTER (WHERE date_end > $2 AND withdrawn_at IS NULL) AS end
         FROM proxies WHERE user_id = ANY ($1) GROUP BY user_id`,
      [userIds, new Date(fromMs)],
    );
    const byUser = new Map(spans.map((span) => [span.userId, span]));
    return new Map(
      userIds.map((id) => {
        const { proxyCount, end } = byUser.get(id) ?? { proxyCount: 0, end: null };
        return [id, { fromMs, untilMs: end?.getTime() ?? Infinity, proxyCount }];
      }),
    );
  });
}
