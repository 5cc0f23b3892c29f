import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource, type EntityManager } from 'typeorm';
import { inTransaction, type Queryable, queryRows } from '../database';
import type { Idempotency } from '../orders';
import type { Act, Target } from './act';
import type { ActionOut } from './dto/action.dto';

/** What the log says of a change. */
export interface LoggedChange {
  /** When it was not known before, as for what is created. */
  readonly target?: Target;
  readonly reason?: string;
  readonly before?: object;
  readonly after?: object;
  readonly idempotency?: Idempotency | null;
}

/** Writes the line of this change, once; gives its number. */
export type RecordChange = (change: LoggedChange) => Promise<number>;

export interface ActionFilter {
  readonly userId?: number | null;
  readonly action?: string | null;
  readonly target?: Target | null;
  readonly from?: Date | null;
  readonly to?: Date | null;
  /** Leaves out what was only looked at. */
  readonly changesOnly?: true;
}

/** The log of everything that staff do. */
@Injectable()
export class StaffLog {
  constructor(@InjectDataSource() private readonly dataSource: DataSource) {}

  /**
   * Carries out a change, in one transaction with its line in the log: neither is there without the other.
   *
   * @throws TransactionOutcomeUnknown
   */
  async change<Result>(
    act: Act,
    work: (manager: EntityManager, record: RecordChange) => Promise<Result>,
  ): Promise<Result> {
    const result = await inTransaction(this.dataSource, async (manager) => {
      let recorded = 0;
      const done = await work(manager, (change) => {
        recorded += 1;
        return this.write(manager, act, change);
      });
      if (recorded !== 1) throw new Error(`${act.action} was recorded ${recorded} times`);
      return done;
    });
    act.isLogged = true;
    return result;
  }

  /** Writes down what changed nothing. */
  async read(act: Act): Promise<void> {
    await this.write(this.dataSource, act, {});
    act.isLogged = true;
  }

  private async write(
    queryable: Queryable,
    act: Act,
    { target = act.target ?? undefined, reason, before, after, idempotency }: LoggedChange,
  ): Promise<number> {
    const [written] = await queryRows<{ id: number }>(
      queryable,
      `INSERT INTO staff_actions (via, user_id, token_id, action, target_type, target_id, reason, request, before, after, ip,
                                  request_id, idempotency_key, request_hash)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
       RETURNING id`,
      [
        act.caller ? 'api' : 'cli',
        act.caller?.userId ?? null,
        act.caller?.tokenId ?? null,
        act.action,
        target?.type ?? null,
        target === undefined ? null : String(target.id),
        reason ?? null,
        act.request,
        before ?? null,
        after ?? null,
        act.ip,
        act.requestId,
        idempotency?.key ?? null,
        idempotency?.requestHash ?? null,
      ],
    );
    if (!written) throw new Error('a line of the log was not returned');
    return written.id;
  }

  /** A page of the log, newest first. @param cursor the id of the last line of the page before */
  search(
    { userId = null, action = null, target, from, to, changesOnly }: ActionFilter,
    page: { cursor: number | null; limit: number },
  ): Promise<ActionOut[]> {
    const parameters: unknown[] = [];
    const given = (value: unknown): string => `$${parameters.push(value)}`;
    const conditions = [
      userId !== null && `user_id = ${given(userId)}`,
      action !== null && `action = ${given(action)}`,
      target && `target_type = ${given(target.type)} AND target_id = ${given(String(target.id))}`,
      from && `at >= ${given(from)}`,
      to && `at < ${given(to)}`,
      changesOnly && 'after IS NOT NULL',
      page.cursor !== null &&
        `(at, id) < ((SELECT at FROM staff_actions WHERE id = ${given(page.cursor)}), ${given(page.cursor)})`,
    ].filter((condition) => typeof condition === 'string');
    return queryRows<ActionOut>(
      this.dataSource,
      `SELECT id, at, via, user_id, token_id, action,
              CASE WHEN target_type IS NOT NULL THEN json_build_object('type', target_type, 'id', target_id) END AS target,
              reason, request, before, after, host(ip) AS ip, request_id
         FROM staff_actions
        ${conditions.length > 0 ? `WHERE ${conditions.join(' AND ')}` : ''}
        ORDER BY at DESC, id DESC
        LIMIT ${given(page.limit)}`,
      parameters,
    );
  }
}
