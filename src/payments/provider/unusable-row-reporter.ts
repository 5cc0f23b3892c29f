import { Injectable, Logger } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { atMost } from '../../common';
import { Metrics } from '../../metrics';

const MOST_REMEMBERED = 10_000;

/** Counts every unusable row of the provider's lists, but logs each row only once. */
@Injectable()
export class UnusableRowReporter {
  private readonly logger = new Logger('Payments');
  private readonly logged = new LRUCache<string, true>(atMost(MOST_REMEMBERED));

  constructor(private readonly metrics: Metrics) {
    metrics.count('payment_rows_unusable_total', {}, 0);
  }

  /** @param why names of unusable fields, or an error; must contain no data from the row */
  report(list: string, row: unknown, why: string): void {
    this.metrics.count('payment_rows_unusable_total', {});
    const { id } = Object(row) as { readonly id?: unknown };
    const shownId = typeof id === 'string' && /^[\w-]{1,64}$/.test(id) ? id : 'without an id';
    this.note('error', `a row of ${list} cannot be used: ${shownId} (${why})`);
  }

  note(level: 'error' | 'warn', message: string): void {
    if (this.logged.has(message)) return;
    this.logged.set(message, true);
    this.logger[level](`${message}: look at it in the merchant profile`);
  }
}
