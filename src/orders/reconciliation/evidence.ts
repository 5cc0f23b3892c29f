import type { ListedProxy } from '../../provider';
import { type BatchMember, type OrderBatch, batchSize } from '../order-batch';

const DAY_MS = 24 * 3_600_000;

/**
 * Providers count in whole days, so an expiry may be off by hours. Must equal the tolerance of
 * `is_prolonged()`.
 */
const DATE_TOLERANCE_MS = 6 * 3_600_000;

export type PurchaseEvidence =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'contradictory'; readonly why: string }
  | { readonly kind: 'bought'; readonly whole: boolean };

export type ProlongationEvidence =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'inconclusive' | 'contradictory'; readonly why: string }
  | { readonly kind: 'prolonged'; readonly dateEnd: Date; readonly times: 1 | 2 };

/** @param listed everything listed under the batch's order reference */
export function purchaseEvidence(batch: OrderBatch, listed: readonly ListedProxy[]): PurchaseEvidence {
  const size = batchSize(batch);
  if (listed.length === 0) return { kind: 'nothing' };
  if (listed.length > size) {
    return {
      kind: 'contradictory',
      why: `${listed.length} proxies are listed under the order reference, but ${size} were ordered`,
    };
  }
  return { kind: 'bought', whole: listed.length === size };
}

export function prolongationEvidence(
  { period, submittedAt }: Pick<OrderBatch, 'period' | 'submittedAt'>,
  { dateEndBefore: before }: Pick<BatchMember, 'dateEndBefore'>,
  listed: ListedProxy | undefined,
): ProlongationEvidence {
  if (!before) return { kind: 'contradictory', why: 'the end before the call was not stored' };
  if (!listed) return { kind: 'inconclusive', why: 'the provider does not list the proxy' };
  const end = listed.dateEnd;
  const movedTo = (from: Date, periods: 0 | 1 | 2): boolean =>
    Math.abs(end.getTime() - (from.getTime() + periods * period * DAY_MS)) <= DATE_TOLERANCE_MS;
  if (movedTo(before, 0)) return { kind: 'nothing' };
  if (end < before) {
    return { kind: 'inconclusive', why: 'the listing shows an earlier end than before the call' };
  }
  if (movedTo(before, 1)) return { kind: 'prolonged', dateEnd: end, times: 1 };
  // The provider may count an expired proxy's new period from the moment of the call.
  if (before < submittedAt && movedTo(submittedAt, 1)) return { kind: 'prolonged', dateEnd: end, times: 1 };
  if (movedTo(before, 2)) return { kind: 'prolonged', dateEnd: end, times: 2 };
  return { kind: 'contradictory', why: 'the end of the rental moved by a time that differs from the period' };
}
