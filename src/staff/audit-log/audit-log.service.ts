import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { DomainError } from '../../common';
import {
  Conditions,
  inTransaction,
  type Queryable,
  queryRow,
  queryRows,
  waitForStandby,
  violatedConstraint,
} from '../../database';
import { assertPeriod, type PageRequest, readPage, RequestInvalid } from '../../http';
import { type Idempotency, IdempotencyKeyReused } from '../../orders';
import { usernameSql } from '../links';
import { type AuditContext, type AuditTarget, parseTarget } from './audit-context';
import type { ActionOut, ActionsPage, ActionsQuery } from './audit-log.dto';

export interface AuditedChange {
  /** Omitted if the `AuditContext` contains the target. */
  readonly target?: AuditTarget;
  readonly reason?: string | undefined;
  readonly before?: object | undefined;
  readonly after?: object;
  readonly refusal?: string;
  readonly idempotency?: Idempotency | null;
}

/** Records a change. Must be called exactly once per change. @returns the record's id */
export type RecordChange = (change: AuditedChange) => Promise<number>;

@Injectable()
export class AuditLogService {
  constructor(private readonly dataSource: DataSource) {}

  /** Makes a change and records it in the same transaction. @throws TransactionOutcomeUnknown */
  async recordChange<Result>(
    audit: AuditContext,
    work: (manager: EntityManager, record: RecordChange) => Promise<Result>,
  ): Promise<Result> {
    const result = await inTransaction(this.dataSource, async (manager) => {
      let recorded = 0;
      const done = await work(manager, (change) => {
        recorded += 1;
        return this.insert(manager, audit, change);
      });
      if (recorded !== 1) throw new Error(`${audit.action} was recorded ${recorded} times`);
      return done;
    });
    audit.isRecorded = true;
    return result;
  }

  /** Makes a change once per idempotency key. @throws IdempotencyKeyReused, TransactionOutcomeUnknown */
  async recordOnce<Result extends object>(
    audit: AuditContext,
    idempotency: Idempotency,
    work: (manager: EntityManager, record: RecordChange) => Promise<Result>,
    resultOf: (actionId: number) => Promise<Result | null>,
  ): Promise<Result & { replayed: boolean }> {
    const findEarlier = async (): Promise<Result | null> => {
      const actionId = await this.findByKey(audit, idempotency);
      return actionId === null ? null : resultOf(actionId);
    };
    const earlier = await findEarlier();
    if (earlier) return Object.assign(earlier, { replayed: true });
    try {
      const result = await this.recordChange(audit, (manager, record) =>
        work(manager, (change) => record({ ...change, idempotency })),
      );
      return Object.assign(result, { replayed: false });
    } catch (error) {
      // Perhaps a concurrent request with the same key has committed first.
      const mayBeKnown =
        error instanceof DomainError || violatedConstraint(error) === 'audit_log_idempotency_key';
      const meanwhile = mayBeKnown ? await findEarlier() : null;
      if (!meanwhile) throw error;
      return Object.assign(meanwhile, { replayed: true });
    }
  }

  /**
   * Before it returns a record, waits until that record would survive a failover.
   * @throws IdempotencyKeyReused
   */
  private async findByKey(
    { caller }: AuditContext,
    { key, requestHash }: Idempotency,
  ): Promise<number | null> {
    const [action] = await queryRows<{ id: number; hash: Buffer }>(
      this.dataSource,
      `SELECT id, request_hash AS hash FROM audit_log
        WHERE user_id ${caller ? '= $2' : 'IS NULL'} AND idempotency_key = $1`,
      [key, ...(caller ? [caller.userId] : [])],
    );
    if (!action) return null;
    await waitForStandby(this.dataSource);
    if (!action.hash.equals(requestHash)) throw new IdempotencyKeyReused(key);
    return action.id;
  }

  /** Makes a change, and records one row's state before and after it. @throws TransactionOutcomeUnknown */
  recordChangeOf<Before extends object, After extends object>(
    audit: AuditContext,
    reason: string,
    steps: {
      readonly before: (manager: EntityManager) => Promise<Before>;
      readonly change: (manager: EntityManager, before: Before) => Promise<After>;
    },
  ): Promise<After> {
    return this.recordChange(audit, async (manager, record) => {
      const before = await steps.before(manager);
      const after = await steps.change(manager, before);
      await record({ reason, before, after });
      return after;
    });
  }

  /**
   * Refusals are recorded, because they reveal facts, such as whether a user exists. Other errors reveal
   * nothing.
   */
  async recordRequest<Response>(audit: AuditContext, work: () => Promise<Response>): Promise<Response> {
    try {
      const response = await work();
      if (!audit.isRecorded) await this.insert(this.dataSource, audit, {});
      return response;
    } catch (error) {
      const isShown = error instanceof DomainError && !(error instanceof RequestInvalid);
      if (isShown && !audit.isRecorded) await this.insert(this.dataSource, audit, { refusal: error.detail });
      throw error;
    }
  }

  private async insert(
    queryable: Queryable,
    audit: AuditContext,
    { target = audit.target ?? undefined, reason, before, after, refusal, idempotency }: AuditedChange,
  ): Promise<number> {
    const inserted = await queryRow<{ id: number }>(
      queryable,
      `INSERT INTO audit_log (via, user_id, token_id, action, target_type, target_id, reason, request,
                                  before, after, refusal, ip, request_id, idempotency_key, request_hash)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)
       RETURNING id`,
      [
        audit.caller ? 'api' : 'cli',
        audit.caller?.userId ?? null,
        audit.caller?.tokenId ?? null,
        audit.action,
        target?.type ?? null,
        target === undefined ? null : String(target.id),
        reason ?? null,
        audit.request,
        before ?? null,
        after ?? null,
        refusal ?? null,
        audit.ip,
        audit.requestId,
        idempotency?.key ?? null,
        idempotency?.requestHash ?? null,
      ],
    );
    return inserted.id;
  }

  /** @throws InvalidPeriod */
  async search(query: ActionsQuery): Promise<ActionsPage> {
    const { user_id: userId, action, target, from, to, changes_only: changesOnly } = query;
    assertPeriod(from, to);
    return readPage(query, (page) => {
      const conditions = conditionsOf(target === null ? null : parseTarget(target));
      conditions.by(userId, (id) => `user_id = ${id}`);
      conditions.by(action, (name) => `action = ${name}`);
      conditions.by(from, (moment) => `at >= ${moment}`);
      conditions.by(to, (moment) => `at < ${moment}`);
      if (changesOnly) conditions.add('after IS NOT NULL');
      return this.find(conditions, page);
    });
  }

  findChanges(target: AuditTarget, limit: number): Promise<ActionOut[]> {
    const conditions = conditionsOf(target);
    conditions.add('after IS NOT NULL');
    return this.find(conditions, { cursor: null, limit });
  }

  private find(conditions: Conditions, { cursor, limit }: PageRequest): Promise<ActionOut[]> {
    // If the cursor's record has been deleted, use the time of the record with the next lower id.
    conditions.by(
      cursor,
      (id) => `(at, id) < ((SELECT at FROM audit_log WHERE id <= ${id} ORDER BY id DESC LIMIT 1), ${id})`,
    );
    return queryRows<ActionOut>(
      this.dataSource,
      `SELECT action.id, at, via, action.user_id, ${usernameSql('action.user_id')} AS username, token_id,
              CASE WHEN issuer.id IS NOT NULL
                   THEN json_build_object('token_id', issuer.id, 'user_id', issuer.user_id) END AS issuer,
              action.action,
              CASE WHEN target_type IS NOT NULL
                   THEN json_build_object('type', target_type, 'id', target_id) END AS target,
              reason, request, before, after, refusal, host(ip) AS ip, request_id
         FROM (SELECT * FROM audit_log
                ${conditions.toSql()}
                ORDER BY at DESC, id DESC
                LIMIT ${conditions.given(limit)}) AS action
         LEFT JOIN api_tokens token ON token.id = action.token_id
         LEFT JOIN api_tokens issuer ON issuer.id = token.issued_by
        ORDER BY at DESC, action.id DESC`,
      conditions.parameters,
    );
  }
}

function conditionsOf(target: AuditTarget | null): Conditions {
  const conditions = new Conditions();
  conditions.by(target?.type, (type) => `target_type = ${type}`);
  conditions.by(target && String(target.id), (id) => `target_id = ${id}`);
  return conditions;
}
