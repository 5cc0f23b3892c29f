import { Injectable } from '@nestjs/common';
import { AppConfig } from '../../config';
import { type LeasedRun, Work } from '../../work';
import { PaymentFollowing } from '../deposits/payment-following';
import { PaymentProvider } from '../provider/payment-provider';
import { ComparisonRecords } from '../records/comparison-records';
import { Refunds } from './refunds';

export interface ComparisonReport {
  readonly payments: number;
  readonly credited: number;
  readonly unmatched: number;
  readonly refunds: number;
  readonly found_refunds: number;
}

/**
 * Compares the provider's payments since the last complete pass with the database, as the sweep does for
 * proxies: a payment is credited even if its notification and the response to its creation were lost.
 */
@Injectable()
export class Comparison {
  constructor(
    private readonly provider: PaymentProvider,
    private readonly records: ComparisonRecords,
    private readonly following: PaymentFollowing,
    private readonly refunds: Refunds,
    { payments }: AppConfig,
    work: Work,
  ) {
    work.run({
      name: 'compare-payments',
      everySeconds: payments.compareSeconds,
      execute: (run) => this.compare(run),
    });
  }

  /** Applies each payment at once. Only a complete pass advances the start of the next one. */
  private async compare(run: LeasedRun): Promise<ComparisonReport> {
    const report = { payments: 0, credited: 0, unmatched: 0, refunds: 0, found_refunds: 0 };
    await run.renew(report);
    const { since, now } = await this.records.span(this.provider.name);
    for await (const payments of this.provider.paymentsSince(since)) {
      await run.renew(report);
      for (const payment of payments) {
        const { outcome } = await this.following.takeOver(payment);
        report.payments += 1;
        if (outcome === 'credited' || outcome === 'unmatched') report[outcome] += 1;
      }
    }
    for await (const refunds of this.provider.refundsSince(since)) {
      await run.renew(report);
      for (const refund of refunds) {
        report.refunds += 1;
        if (await this.refunds.takeOver(refund)) report.found_refunds += 1;
      }
    }
    await this.records.complete(this.provider.name, now);
    return report;
  }
}
