import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { Money } from '../../common';
import { queryRows } from '../../database';
import { assertPeriod, type PageRequest, readPageBy } from '../../http';
import { LedgerService, POSTED_ENTRY, type PostedEntryOut, selectEntries } from '../../ledger';
import { type Idempotency, requireIdempotency } from '../../orders';
import { UserNotFound, UsersService } from '../../users';
import type { AuditContext } from '../audit-log/audit-context';
import { AuditLogService, type RecordChange } from '../audit-log/audit-log.service';
import { usernameSql } from '../links';
import type { LedgerEntryOut, LedgerPage, PostingOut, PostingRequest } from './staff-balances.dto';
import { type StatementRow, toCsv } from './statement-csv';

const SELECT_ENTRIES = `
  SELECT entry.id, entry.seq, entry.kind, available_delta, held_delta, available_after, held_after,
         CASE WHEN orders.id IS NOT NULL
              THEN json_build_object('id', orders.id, 'kind', orders.kind, 'state', orders.state,
                                     'link', '/staff/orders/' || orders.id)
         END AS "order",
         CASE WHEN action.id IS NOT NULL
              THEN json_build_object('id', action.id, 'via', action.via, 'user_id', action.user_id,
                                     'username', ${usernameSql('action.user_id')})
         END AS action,
         entry.reason, entry.reference, entry.created_at
    FROM ledger_entries entry
    LEFT JOIN orders ON orders.id = entry.order_id
    LEFT JOIN audit_log action ON action.id = entry.action_id`;

const BATCH_SIZE = 1000;

@Injectable()
export class StaffBalancesService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly ledger: LedgerService,
    private readonly users: UsersService,
    private readonly auditLog: AuditLogService,
  ) {}

  /**
   * @throws UserNotFound, InvalidAmount, InsufficientBalance, BalanceTooLarge, OwnAccount,
   * IdempotencyKeyMissing, IdempotencyKeyInvalid, IdempotencyKeyReused
   */
  async post(
    audit: AuditContext,
    direction: 'credit' | 'debit',
    userId: number,
    { amount, reason, reference }: PostingRequest,
    idempotencyKey: string | undefined,
  ): Promise<PostingOut> {
    const request = { direction, userId, amount: amount.toString(), reason, reference: reference ?? '' };
    const idempotency = requireIdempotency(idempotencyKey, request);
    audit.assertConcernsAnother(userId);
    return this.postOnce(audit, idempotency, async (manager, record) => {
      const before = await lockAccount(manager, userId);
      const balance = Money.parse(before.balance);
      const after = direction === 'credit' ? balance.plus(amount) : balance.minus(amount);
      const actionId = await record({ reason, before, after: { ...before, balance: after.toString() } });
      return this.ledger[direction](userId, amount, reason, { reference, actionId, manager });
    });
  }

  /** @throws IdempotencyKeyReused, TransactionOutcomeUnknown */
  postOnce(
    audit: AuditContext,
    idempotency: Idempotency,
    post: (manager: EntityManager, record: RecordChange) => Promise<PostedEntryOut>,
  ): Promise<PostingOut> {
    return this.auditLog.recordOnce(audit, idempotency, post, async (actionId) => {
      const [entry] = await queryRows<PostedEntryOut>(
        this.dataSource,
        `SELECT ${POSTED_ENTRY} FROM ledger_entries entry WHERE action_id = $1`,
        [actionId],
      );
      return entry ?? null;
    });
  }

  /** The cursor is a `seq`, not an id. @throws UserNotFound */
  async listEntries(userId: number, page: PageRequest): Promise<LedgerPage> {
    await this.users.assertExists(userId);
    const find = ({ cursor, limit }: PageRequest) =>
      queryRows<LedgerEntryOut>(
        this.dataSource,
        `${SELECT_ENTRIES} WHERE entry.user_id = $1 AND entry.seq < $2 ORDER BY entry.seq DESC LIMIT $3`,
        [userId, cursor ?? Number.MAX_SAFE_INTEGER, limit],
      );
    return readPageBy(page, find, ({ seq }) => seq);
  }

  listEntriesOfOrder(orderId: number, limit: number): Promise<LedgerEntryOut[]> {
    return queryRows(
      this.dataSource,
      `${SELECT_ENTRIES} WHERE entry.order_id = $1 ORDER BY entry.seq LIMIT $2`,
      [orderId, limit],
    );
  }

  /** Returns CSV. `from` is inclusive, `to` is exclusive. @throws UserNotFound, InvalidPeriod */
  async readStatement(userId: number, from: Date, to: Date): Promise<AsyncGenerator<string>> {
    await this.users.assertExists(userId);
    assertPeriod(from, to);
    return toCsv(this.findStatementRows(userId, from, to));
  }

  /** Orders entries by `seq`, so that each entry starts from the balance after the previous one. */
  private async *findStatementRows(userId: number, from: Date, to: Date): AsyncGenerator<StatementRow[]> {
    for (let last = 0; ;) {
      const entries = selectEntries(userId, { from, to, kind: null, order_id: null });
      entries.add(`seq > ${entries.given(last)}`);
      const batch: StatementRow[] = await queryRows<StatementRow>(
        this.dataSource,
        `SELECT seq, iso_text(created_at, '.US') AS created_at, kind,
                available_delta, held_delta, available_after, held_after, order_id, reference, reason
           FROM ledger_entries ${entries.toSql()} ORDER BY seq LIMIT ${BATCH_SIZE}`,
        entries.parameters,
      );
      yield batch;
      const end = batch.at(-1);
      if (!end || batch.length < BATCH_SIZE) return;
      last = end.seq;
    }
  }
}

async function lockAccount(
  manager: EntityManager,
  userId: number,
): Promise<{ readonly balance: string; readonly held: string }> {
  const [account] = await queryRows<{ balance: string; held: string }>(
    manager,
    'SELECT available AS balance, held FROM lock_accounts(ARRAY[$1::bigint])',
    [userId],
  );
  if (!account) throw new UserNotFound();
  return account;
}
