import type { ListedProxy, ProviderPurchase } from '../provider';
import type { Order } from './order.entity';

const DAY_MS = 24 * 3_600_000;

/** Within this a date counts as moved by a period: providers count days, not hours. */
const DATE_TOLERANCE_MS = 6 * 3_600_000;

/** What one complete listing of the upstream says about an order whose outcome is unknown. */
export type Evidence =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'inconclusive'; readonly why: string }
  | { readonly kind: 'contradictory'; readonly why: string }
  | { readonly kind: 'bought'; readonly purchase: ProviderPurchase; readonly whole: boolean }
  | { readonly kind: 'prolonged'; readonly dateEnd: Date; readonly times: 1 | 2 };

/** @param listed everything under the order's tag */
export function purchaseEvidence(order: Order, listed: readonly ListedProxy[]): Evidence {
  if (listed.length === 0) return { kind: 'nothing' };
  if (listed.length > order.count) {
    return {
      kind: 'contradictory',
      why: `${listed.length} proxies under the tag of an order for ${order.count}`,
    };
  }
  return {
    kind: 'bought',
    whole: listed.length === order.count,
    // What was charged is in the lost answer only; the quote stands in for it.
    purchase: { providerOrderId: null, charge: order.providerPrice, proxies: listed },
  };
}

/** @param listed the proxy as the upstream has it now, or undefined when it does not list it */
export function prolongationEvidence(order: Order, listed: ListedProxy | undefined): Evidence {
  const before = order.dateEndBefore;
  if (!before || !order.submittedAt) return { kind: 'contradictory', why: 'claimed without the date before' };
  if (!listed) return { kind: 'inconclusive', why: 'the upstream does not list the proxy' };
  const end = listed.dateEnd;
  if (end.getTime() === before.getTime()) return { kind: 'nothing' };
  const movedTo = (from: Date, periods: 1 | 2): boolean =>
    Math.abs(end.getTime() - (from.getTime() + periods * order.period * DAY_MS)) <= DATE_TOLERANCE_MS;
  if (movedTo(before, 1)) return { kind: 'prolonged', dateEnd: end, times: 1 };
  // An expired proxy may be prolonged from the moment of the call.
  if (before < order.submittedAt && movedTo(order.submittedAt, 1))
    return { kind: 'prolonged', dateEnd: end, times: 1 };
  if (movedTo(before, 2)) return { kind: 'prolonged', dateEnd: end, times: 2 };
  return { kind: 'contradictory', why: 'the end of the proxy moved by something else than the period' };
}
