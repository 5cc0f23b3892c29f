import { Injectable } from '@nestjs/common';
import { AccessRecheck, type RequestWait } from '../../auth';
import { isId, Money } from '../../common';
import { AppConfig } from '../../config';
import { type Page, type PageRequest, readPage, RequestsUnderWay } from '../../http';
import { Metrics } from '../../metrics';
import { IdempotencyKeyReused, requireIdempotency } from '../../orders';
import { PaymentError, PaymentProvider, PaymentRefused } from '../provider/payment-provider';
import { DepositRecords } from '../records/deposit-records';
import type { DepositOut } from '../records/deposit.dto';
import type { DepositRequest } from './deposits.dto';
import {
  DepositBeingPrepared,
  DepositNotFound,
  DepositOutOfBounds,
  PaymentsRefused,
  TooManyDeposits,
} from './deposits.errors';
import { PaymentSync } from './payment-sync';

@Injectable()
export class DepositsService {
  private readonly min: Money;
  private readonly max: Money;
  private readonly hasReceipt: boolean;

  constructor(
    private readonly records: DepositRecords,
    private readonly sync: PaymentSync,
    private readonly paymentProvider: PaymentProvider,
    private readonly underWay: RequestsUnderWay,
    private readonly access: AccessRecheck,
    private readonly metrics: Metrics,
    { payments }: AppConfig,
  ) {
    this.min = Money.parse(payments.min);
    this.max = Money.parse(payments.max);
    this.hasReceipt = payments.receipt !== undefined;
  }

  /**
   * @throws DepositOutOfBounds, TooManyDeposits, TooManyUnderWay, IdempotencyKeyMissing,
   * IdempotencyKeyInvalid, IdempotencyKeyReused, DepositBeingPrepared, PaymentsRefused
   */
  async create(
    userId: number,
    { amount, receipt_email: receiptEmail }: DepositRequest,
    keyHeader: string | undefined,
  ): Promise<{ readonly deposit: DepositOut; readonly isReplay: boolean }> {
    const idempotency = requireIdempotency(keyHeader, {
      amount: amount.toString(),
      ...(receiptEmail !== null && { receiptEmail }),
    });
    return this.underWay.run('deposit', userId, async () => {
      const wanted = { amount: amount.toString(), receiptEmail, hasReceipt: this.hasReceipt };
      const earlier = await this.records.findByKey(userId, wanted, idempotency);
      // A retry returns the existing deposit, even if the limits have changed since.
      if (!earlier) this.assertWithinBounds(amount);
      const placed =
        earlier ?? (await this.records.place(userId, this.paymentProvider.name, wanted, idempotency));
      if (!placed) throw new TooManyDeposits();
      if (placed.isNew) this.metrics.count('payments_total', { outcome: 'created' });
      if (!placed.isSame) throw new IdempotencyKeyReused(idempotency.key);
      await this.createPayment(placed.id);
      const deposit = await this.get(userId, placed.id);
      return { deposit, isReplay: !placed.isNew };
    });
  }

  list(userId: number, page: PageRequest): Promise<Page<DepositOut>> {
    return readPage(page, (wider) => this.records.list(userId, wider));
  }

  /** @throws DepositNotFound, TooManyUnderWay; after a wait, also any error of the repeated token check */
  async read(userId: number, depositId: string, wait: RequestWait): Promise<DepositOut> {
    if (!isId(depositId)) throw new DepositNotFound();
    const id = Number(depositId);
    const deposit = await this.get(userId, id);
    if (deposit.state !== 'pending' || wait.seconds === 0) return deposit;
    await this.underWay.run('wait', userId, () =>
      this.records.awaited.until(id, ({ state }) => state !== 'pending', wait.seconds * 1000, wait.hungUp),
    );
    if (wait.hungUp.aborted) return deposit;
    await this.access.assertStillAllowed(wait.request, 'deposits:read');
    return this.get(userId, id);
  }

  private assertWithinBounds(amount: Money): void {
    const { min, max } = this;
    if (min.minus(amount).isPositive() || amount.minus(max).isPositive()) {
      throw new DepositOutOfBounds(min, max);
    }
  }

  private async get(userId: number, id: number): Promise<DepositOut> {
    const deposit = await this.records.find(userId, id);
    if (!deposit) throw new DepositNotFound();
    return deposit;
  }

  private async createPayment(id: number): Promise<void> {
    const wanted = await this.records.findWanted(id);
    if (!wanted) return;
    if (wanted.isRefused) throw new PaymentsRefused();
    try {
      await this.sync.create(wanted);
    } catch (error) {
      if (error instanceof PaymentRefused) throw new PaymentsRefused();
      if (error instanceof PaymentError) throw new DepositBeingPrepared(id);
      throw error;
    }
  }
}
