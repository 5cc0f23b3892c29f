import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { DomainError } from '../../common';
import { Conditions, inTransaction, type Queryable, queryRows } from '../../database';
import { assertPeriod, type PageRequest, readPage, RequestInvalid } from '../../http';
import type { Idempotency } from '../../orders';
import { usernameOf } from '../links';
import type { AuditContext, AuditTarget } from './audit-context';
import type { ActionOut, ActionsPage } from './audit-log.dto';

/** What the audit log keeps of a change, beside its context. */
export interface AuditedChange {
  /** Left out when the context names it already. */
  readonly target?: AuditTarget;
  readonly reason?: string | undefined;
  readonly before?: object | undefined;
  readonly after?: object;
  readonly refusal?: string;
  readonly idempotency?: Idempotency | null;
}

/** Records a change, to be called once in its transaction. Gives the id of the record. */
export type RecordChange = (change: AuditedChange) => Promise<number>;

/** What is null or left out counts as any. */
export interface AuditLogFilter {
  readonly userId?: number | null | undefined;
  readonly action?: string | null | undefined;
  readonly target?: AuditTarget | null | undefined;
  readonly from?: Date | null | undefined;
  /** Not included. */
  readonly to?: Date | null | undefined;
  /** Leaves out reads. */
  readonly changesOnly?: true;
}

/** The audit log: everything that staff change or look at. */
@Injectable()
export class AuditLogService {
  constructor(private readonly dataSource: DataSource) {}

  /**
   * Carries out a change in one transaction with its record: neither is there without the other.
   *
   * @throws TransactionOutcomeUnknown
   */
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

  /**
   * Carries out a change of one thing, and records what it was before and is afterwards.
   *
   * @param steps.before reads the thing, and keeps everybody else from changing it where that matters
   * @param steps.change returns what it is afterwards, which this returns as well
   * @throws TransactionOutcomeUnknown
   */
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
   * Runs a request. What did not record itself, a read, is recorded before its response is given; and a
   * refusal with the text that its sender is about to see. An invalid request never reached what it asks for,
   * and the text of an unforeseen error is not shown.
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
    const [inserted] = await queryRows<{ id: number }>(
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
    if (!inserted) throw new Error('an inserted record of the audit log was not returned');
    return inserted.id;
  }

  /**
   * A page of records, newest first. The cursor is the id of the last record of the previous page.
   *
   * @throws InvalidPeriod
   */
  async search(filter: AuditLogFilter, page: PageRequest): Promise<ActionsPage> {
    assertPeriod(filter.from, filter.to);
    return readPage(page, (wider) => this.find(filter, wider));
  }

  private find(filter: AuditLogFilter, { cursor, limit }: PageRequest): Promise<ActionOut[]> {
    const { userId, action, target, from, to, changesOnly } = filter;
    const conditions = new Conditions();
    conditions.by(userId, (id) => `user_id = ${id}`);
    conditions.by(action, (name) => `action = ${name}`);
    conditions.by(target?.type, (type) => `target_type = ${type}`);
    conditions.by(target && String(target.id), (id) => `target_id = ${id}`);
    conditions.by(from, (moment) => `at >= ${moment}`);
    conditions.by(to, (moment) => `at < ${moment}`);
    if (changesOnly) conditions.add('after IS NOT NULL');
    // The record itself may be gone: then the one before it has the time.
    conditions.by(
      cursor,
      (id) => `(at, id) < ((SELECT at FROM audit_log WHERE id <= ${id} ORDER BY id DESC LIMIT 1), ${id})`,
    );
    return queryRows<ActionOut>(
      this.dataSource,
      `SELECT action.id, at, via, action.user_id, ${usernameOf('action.user_id')} AS username, token_id,
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
