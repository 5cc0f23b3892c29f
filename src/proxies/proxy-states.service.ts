import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { LRUCache } from 'lru-cache';
import { DataSource } from 'typeorm';
import type { Caller } from '../auth';
import { Clock } from '../common';
import { batchedLookup, preparedRows } from '../database';
import type { ProxyState } from './proxy-state';

const MOST_USERS = 20_000;

/** Tells how a caller's proxies stand, in most cases from what their token was looked up with. */
@Injectable()
export class ProxyStatesService {
  private readonly states = new LRUCache<number, ProxyState>({ max: MOST_USERS });

  constructor(
    @InjectDataSource() private readonly dataSource: DataSource,
    private readonly clock: Clock,
  ) {}

  /** The same object as long as the state is the same. */
  async of({ userId, proxiesRevision: revision }: Caller): Promise<ProxyState> {
    const known = this.find(userId, revision);
    if (known) return known;
    const span = await this.spanOf(userId);
    if (!span) throw new Error(`it was not told when the next rental of user ${userId} ends`);
    // Who asked at the same time has kept it.
    const kept = this.find(userId, revision);
    if (kept) return kept;
    const state = { userId, revision, ...span };
    this.states.set(userId, state);
    return state;
  }

  private find(userId: number, revision: number): ProxyState | undefined {
    const nowMs = this.clock.now().getTime();
    const state = this.states.get(userId);
    return state?.revision === revision && state.fromMs <= nowMs && nowMs < state.untilMs ? state : undefined;
  }

  /** From now to the next end of a rental. */
  private readonly spanOf = batchedLookup(async (userIds: readonly number[]) => {
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
