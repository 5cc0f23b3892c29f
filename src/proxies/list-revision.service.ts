import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { DataSource } from 'typeorm';
import type { Caller } from '../auth';
import { Clock } from '../common';
import { batchedLookup, preparedRows } from '../database';

/** A version of a user's list of proxies. What was made from it is valid as long as the revision is. */
export interface ListRevision {
  readonly userId: number;
  /** Grows with every change in the database that the user can see. */
  readonly revision: number;
  /** Milliseconds since 1970. No rental ends from `fromMs` until just before `untilMs`. */
  readonly fromMs: number;
  readonly untilMs: number;
}

/**
 * The entity tag of an answer made from a list. It is weak because the answer may be newer than the revision
 * that the tag names; it is never older.
 *
 * @param variant what else the answer depends on, e.g. its format
 */
export function entityTag({ userId, revision, untilMs }: ListRevision, variant: string): string {
  const hash = createHash('sha256').update(`${userId} ${revision} ${untilMs} ${variant}`);
  return `W/"${hash.digest('base64url').slice(0, 22)}"`;
}

const MAX_USERS = 20_000;

/** Knows the present list revision of each caller, mostly from the look-up of their token alone. */
@Injectable()
export class ListRevisionService {
  private readonly revisions = new LRUCache<number, ListRevision>({ max: MAX_USERS });

  constructor(
    private readonly dataSource: DataSource,
    private readonly clock: Clock,
  ) {}

  /** Gives the same object as long as the revision stays the same. */
  async get({ userId, proxiesRevision: revision }: Caller): Promise<ListRevision> {
    const known = this.find(userId, revision);
    if (known) return known;
    const span = await this.lookUpSpan(userId);
    if (!span) throw new Error(`the database did not tell when the next rental of user ${userId} ends`);
    // A request that came at the same time may have stored it meanwhile.
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

  /** The time from now until the next rental of a user ends. */
  private readonly lookUpSpan = batchedLookup(async (userIds: readonly number[]) => {
    const fromMs = this.clock.now().getTime();
    const ends = await preparedRows<{ userId: number; end: Date }>(
      this.dataSource,
      `SELECT user_id AS "userId", min(date_end) AS end FROM proxies
        WHERE user_id = ANY ($1) AND date_end > $2 AND withdrawn_at IS NULL GROUP BY user_id`,
      [userIds, new Date(fromMs)],
    );
    const untilMs = new Map(ends.map(({ userId, end }) => [userId, end.getTime()]));
    return new Map(userIds.map((id) => [id, { fromMs, untilMs: untilMs.get(id) ?? Infinity }]));
  });
}
