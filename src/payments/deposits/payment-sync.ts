import { Injectable, Logger } from '@nestjs/common';
import { AppConfig } from '../../config';
import { Metrics } from '../../metrics';
import { PaymentProvider, PaymentRefused, type ProviderPayment } from '../provider/payment-provider';
import { DepositRecords, type WantedPayment } from '../records/deposit-records';
import { PaymentRecords, type SettledPayment } from '../records/payment-records';

/** Creates payments at the provider, reads them, and applies their states. */
@Injectable()
export class PaymentSync {
  private readonly logger = new Logger('Payments');
  private readonly returnUrl: string;

  constructor(
    private readonly paymentProvider: PaymentProvider,
    private readonly deposits: DepositRecords,
    private readonly payments: PaymentRecords,
    private readonly metrics: Metrics,
    { payments: settings, server }: AppConfig,
  ) {
    this.returnUrl = settings.returnUrl ?? server.publicUrl ?? settings.baseUrl;
    // Start the counters at zero, because Prometheus would otherwise miss the first increment.
    for (const outcome of ['created', 'credited']) metrics.count('payments_total', { outcome }, 0);
  }

  /** Creates a payment. Retries send the stored request under the same key. @throws PaymentError */
  async create(wanted: WantedPayment): Promise<void> {
    const { returnUrl } = this;
    const request =
      wanted.request ??
      (await this.deposits.storeRequest(
        wanted.depositId,
        this.paymentProvider.paymentRequest({ ...wanted, returnUrl }),
      ));
    const payment = await this.paymentProvider
      .create(wanted.paymentKey, request)
      .catch(async (error: unknown) => {
        if (error instanceof PaymentRefused) {
          await this.deposits.cancelRefused(wanted.depositId, error.reason);
          this.logger.warn(`the payment of deposit ${wanted.depositId} was refused: ${error.message}`);
        }
        throw error;
      });
    await this.takeOver(payment);
  }

  /** @throws PaymentError */
  async read(paymentId: string): Promise<void> {
    const payment = await this.paymentProvider.read(paymentId);
    if (payment) await this.takeOver(payment);
  }

  /** Applies a payment's state as reported by the provider. */
  async takeOver(payment: ProviderPayment): Promise<SettledPayment> {
    const { name, isForTests } = this.paymentProvider;
    const settled = await this.payments.settle(name, payment, isForTests);
    const { outcome, depositId, reason } = settled;
    if (depositId !== undefined) void this.deposits.awaited.changed([depositId]);
    if (outcome === 'unmatched') {
      this.logger.warn(`a payment was not credited (${reason}): staff have to decide`);
    }
    if (outcome === 'ended') {
      this.logger.log(`deposit ${depositId} ended: ${payment.reason ?? payment.state}`);
    }
    if (outcome !== 'none') this.metrics.count('payments_total', { outcome });
    if (outcome === 'credited' && payment.paidAt) {
      this.metrics.observe('payment_credit_seconds', {}, (Date.now() - payment.paidAt.getTime()) / 1000);
    }
    await this.payments.recordReceipt('deposit', name, payment);
    return settled;
  }
}
