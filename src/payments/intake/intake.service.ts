import { createHash } from 'node:crypto';
import { Injectable, Logger } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { Clock, Money } from '../../common';
import { AppConfig, type PaymentSource, readPaymentSources } from '../../config';
import { inTransaction, queryRow, queryRows } from '../../database';
import { Metrics } from '../../metrics';
import { creditSql, INTAKE_PREFIX } from '../records/payment-records';
import type { PaymentObstacle } from '../records/payment.dto';
import { type IntakeRequest, readIntake } from './intake-request';
import { isSigned, type SignedRequest } from './intake-signature';
import { IntakeNotSigned, ReferenceReused, UnknownSource } from './intake.errors';

export interface IntakePayment {
  readonly id: number;
  readonly reference: string;
  readonly state: 'credited' | 'unmatched' | 'rejected';
  readonly amount: string;
}

type StoredPayment = IntakePayment & { readonly isSame: boolean };

interface Report {
  readonly provider: string;
  readonly request: IntakeRequest;
  readonly hash: Buffer;
}

const COLUMNS = `id, payment_id AS reference, state, paid_amount::numeric(14,2) AS amount`;

/** Credits payments that the shop's other systems report, once per reference. */
@Injectable()
export class IntakeService {
  private readonly logger = new Logger('Payments');
  private readonly sources: ReadonlyMap<string, PaymentSource>;

  constructor(
    private readonly dataSource: DataSource,
    private readonly clock: Clock,
    private readonly metrics: Metrics,
    { payments }: AppConfig,
  ) {
    this.sources = readPaymentSources(payments.sourcesFile);
  }

  /** @throws UnknownSource, IntakeNotSigned, RequestInvalid, ReferenceReused */
  async take(name: string, signed: SignedRequest, body: unknown): Promise<IntakePayment> {
    const source = this.sources.get(name);
    if (!source) throw new UnknownSource();
    if (!isSigned(signed, source.secret, this.clock.now())) throw new IntakeNotSigned();
    const request = readIntake(body);
    const provider = `${INTAKE_PREFIX}${name}`;
    const hash = createHash('sha256').update(JSON.stringify(request)).digest();
    const report = { provider, request, hash };
    const { payment, isNew } = await inTransaction(this.dataSource, async (manager) => {
      // Process a source's payments one at a time, because they share a daily limit.
      await queryRows(manager, 'SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [provider]);
      const earlier = await this.find(report, manager);
      if (earlier?.isSame) return { payment: earlier, isNew: false };
      if (earlier) {
        const other = `${request.reference} ${hash.toString('hex').slice(0, 16)}`;
        const isStored = await this.leaveToStaff(report, other, 'reused-reference', manager);
        return { payment: null, isNew: isStored };
      }
      return { payment: await this.store(report, source, manager), isNew: true };
    });
    if (isNew) {
      this.metrics.count('payments_total', {
        outcome: payment?.state === 'credited' ? 'credited' : 'unmatched',
      });
    }
    if (!payment) throw new ReferenceReused();
    const { id, reference, state, amount } = payment;
    return { id, reference, state, amount };
  }

  private async store(report: Report, source: PaymentSource, manager: EntityManager): Promise<StoredPayment> {
    const { provider, request, hash } = report;
    const userId = await this.findUser(request.user, manager);
    const reason =
      userId === null
        ? 'no-user'
        : await this.findObstacle(userId, provider, source, request.amount, manager);
    if (userId === null || reason !== null) {
      await this.leaveToStaff(report, request.reference, reason ?? 'no-user', manager);
    } else {
      await queryRows(
        manager,
        `WITH credited AS (
           INSERT INTO payments (provider, payment_id, state, user_id, amount, paid_amount, currency, paid_at,
                                 details, request_hash, closed_at)
           VALUES ($1, $2, 'credited', $3, $4, $4, 'RUB', $5, $6, $7, now()) RETURNING id, user_id, amount
         )
         ${creditSql('NULL, $2, NULL::bigint')}`,
        [provider, request.reference, userId, request.amount, request.paid_at, detailsOf(request), hash],
      );
    }
    const stored = await this.find(report, manager);
    if (!stored) throw new Error('a payment was not stored');
    return stored;
  }

  private async find(
    { provider, request, hash }: Report,
    manager: EntityManager,
  ): Promise<StoredPayment | null> {
    const [payment] = await queryRows<StoredPayment>(
      manager,
      `SELECT ${COLUMNS}, request_hash = $3 AS "isSame" FROM payments
        WHERE provider = $1 AND payment_id = $2`,
      [provider, request.reference, hash],
    );
    return payment ?? null;
  }

  private async findUser(user: IntakeRequest['user'], manager: EntityManager): Promise<number | null> {
    const [condition, value] =
      'id' in user
        ? ['id = $1', user.id]
        : 'tg_id' in user
          ? ['tg_id = $1', user.tg_id]
          : ['lower(username) = lower($1)', user.username];
    const users = await queryRows<{ id: number }>(
      manager,
      `SELECT id FROM users WHERE ${condition} LIMIT 2`,
      [value],
    );
    return users.length === 1 && users[0] ? users[0].id : null;
  }

  private async findObstacle(
    userId: number,
    provider: string,
    source: PaymentSource,
    amount: string,
    manager: EntityManager,
  ): Promise<PaymentObstacle | null> {
    const today = await queryRow<{ sum: string; isFull: boolean }>(
      manager,
      `SELECT coalesce(sum(amount), 0)::numeric(14,2) AS sum,
              (SELECT available + held + $2::numeric >= 1e12 FROM accounts WHERE user_id = $3) AS "isFull"
         FROM payments
        WHERE provider = $1 AND state = 'credited'
          AND created_at >= date_trunc('day', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'`,
      [provider, amount, userId],
    );
    const paid = Money.parse(amount);
    const sum = Money.parse(today.sum).plus(paid);
    const isAbove =
      today.isFull ||
      paid.minus(Money.parse(source.max_payment)).isPositive() ||
      sum.minus(Money.parse(source.max_day)).isPositive();
    return isAbove ? 'above-limit' : null;
  }

  /** @returns false if the payment had already been left to staff */
  private async leaveToStaff(
    { provider, request, hash }: Report,
    paymentId: string,
    reason: PaymentObstacle,
    manager: EntityManager,
  ): Promise<boolean> {
    const stored = await queryRows(
      manager,
      `INSERT INTO payments (provider, payment_id, state, paid_amount, currency, paid_at, reason, details,
                             request_hash)
       VALUES ($1, $2, 'unmatched', $3, 'RUB', $4, $5, $6, $7) ON CONFLICT DO NOTHING RETURNING id`,
      [provider, paymentId, request.amount, request.paid_at, reason, detailsOf(request), hash],
    );
    if (stored.length > 0) {
      this.logger.warn(`a payment from ${provider} was not credited (${reason}): staff have to decide`);
    }
    return stored.length > 0;
  }
}

const detailsOf = ({ user, comment }: IntakeRequest) => ({ user, ...(comment && { comment }) });
