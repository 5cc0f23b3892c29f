import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource, type EntityManager } from 'typeorm';
import { queryRows, violatedConstraint } from '../database';
import { POSTED_ENTRY, type PostedEntry } from '../ledger';
import { type Idempotency, IdempotencyKeyReused } from '../orders';
import type { Act } from './act';
import { type RecordChange, StaffLog } from './staff-log';

/** An entry, and whether an earlier request with the same key has made it. */
export interface Posting {
  readonly entry: PostedEntry;
  readonly replayed: boolean;
}

/** Makes entries for staff, one for each key, however often it is asked for. */
@Injectable()
export class StaffPostings {
  constructor(
    @InjectDataSource() private readonly dataSource: DataSource,
    private readonly log: StaffLog,
  ) {}

  /**
   * @param idempotency the key of this member of staff; those of the command line have theirs in common
   * @param post makes the entry with the number of its line in the log
   * @throws IdempotencyKeyReused, TransactionOutcomeUnknown
   */
  async post(
    act: Act,
    idempotency: Idempotency | null,
    post: (manager: EntityManager, record: RecordChange) => Promise<PostedEntry>,
  ): Promise<Posting> {
    const earlier = await this.findEarlier(act, idempotency);
    if (earlier) return { entry: earlier, replayed: true };
    try {
      const entry = await this.log.change(act, (manager, record) =>
        post(manager, (change) => record({ ...change, idempotency })),
      );
      return { entry, replayed: false };
    } catch (error) {
      const earlierNow =
        violatedConstraint(error) === 'staff_actions_idempotency_key'
          ? await this.findEarlier(act, idempotency)
          : null;
      if (!earlierNow) throw error;
      return { entry: earlierNow, replayed: true };
    }
  }

  /** @throws IdempotencyKeyReused */
  private async findEarlier(act: Act, idempotency: Idempotency | null): Promise<PostedEntry | null> {
    if (!idempotency) return null;
    const [earlier] = await queryRows<PostedEntry & { hash: Buffer }>(
      this.dataSource,
      `SELECT ${POSTED_ENTRY}, request_hash AS hash
         FROM staff_actions action JOIN ledger_entries entry ON entry.action_id = action.id
        WHERE action.user_id ${act.caller ? '= $2' : 'IS NULL'} AND idempotency_key = $1`,
      [idempotency.key, ...(act.caller ? [act.caller.userId] : [])],
    );
    if (!earlier) return null;
    const { hash, ...entry } = earlier;
    if (!hash.equals(idempotency.requestHash)) throw new IdempotencyKeyReused(idempotency.key);
    return entry;
  }
}
