import type { CompletedRequest, Intent } from '../support/clients';
import type { UnmatchedProxy, Shop } from './shop';

export interface Decided {
  readonly unmatched: number;
  readonly prolongations: number;
}

interface Shown {
  readonly completed: readonly CompletedRequest[];
  readonly open: readonly Intent[];
}

/**
 * Makes everything that was found an order of its customer again. An order reference names a purchase and its
 * customer. In a batch it names the leader alone; the other members are customers who sent such a purchase.
 */
export async function decide(
  shop: Shop,
  { completed, open }: Shown,
  unitPrice: string,
  reason: string,
): Promise<Decided> {
  // For an order reference, the service delivers the named proxy, then those of the lowest ids.
  const unmatched = (await shop.listUnmatchedProxies()).toSorted((one, other) => one.id - other.id);
  const leaders = new Set(unmatched.map((unmatchedProxy) => unmatchedProxy.named_order_id));
  const purchases = [
    ...completed.map(({ intent, response }) => ({ intent, orderId: Number(response.body['order_id']) })),
    ...open.map((intent) => ({ intent, orderId: Infinity })),
  ].filter(({ intent }) => intent.path === '/proxies/buy');
  const take = (matches: (purchase: (typeof purchases)[number]) => boolean) => {
    const at = purchases.findIndex(matches);
    return at < 0 ? undefined : purchases.splice(at, 1)[0];
  };
  for (const order_reference of new Set(unmatched.map((unmatchedProxy) => unmatchedProxy.order_reference))) {
    const left = unmatched.filter((unmatchedProxy) => unmatchedProxy.order_reference === order_reference);
    const deliver = async (userId: number, count: number): Promise<void> => {
      const [first] = left.splice(0, count);
      await shop.asStaff('POST', `/unmatched-proxies/${first?.id}/deliver`, {
        user_id: userId,
        count,
        period: 30,
        price: unitPrice,
        reason,
      });
    };
    const leader = left[0] as UnmatchedProxy;
    const fits = ({ body: { country, count = 1 } }: Intent) =>
      country === leader.country && count <= left.length;
    // The orders of a batch were placed in the same moment.
    const distance = ({ orderId }: { orderId: number }) => Math.abs(orderId - leader.named_order_id);
    purchases.sort((one, other) => distance(one) - distance(other));
    const own =
      take(({ orderId }) => orderId === leader.named_order_id) ??
      take(
        ({ intent, orderId }) =>
          orderId === Infinity && intent.customer.id === leader.named_user_id && fits(intent),
      );
    await deliver(leader.named_user_id, Math.min(own?.intent.body.count ?? left.length, left.length));
    while (left.length > 0) {
      const member = take(({ intent, orderId }) => fits(intent) && !leaders.has(orderId));
      // A member without a response to its customer cannot be assigned.
      await deliver(
        member?.intent.customer.id ?? leader.named_user_id,
        member?.intent.body.count ?? left.length,
      );
    }
  }
  const prolongations = await shop.listFoundProlongations();
  for (const { id } of prolongations) {
    await shop.asStaff('POST', `/found-prolongations/${id}/charge`, { price: unitPrice, reason });
  }
  return { unmatched: unmatched.length, prolongations: prolongations.length };
}
