import type { Answered } from '../support/clients';
import type { Orphan, Shop } from './shop';

export interface Decided {
  readonly orphans: number;
  readonly prolongations: number;
}

/**
 * Decides what staff have to decide before orders can be opened: everything that was found becomes an order
 * of the customer again. Its tag names a purchase and its customer; of a batch it names the leader alone, and
 * the other members are those customers who show that they were told of such a purchase.
 */
export async function decide(
  shop: Shop,
  forgotten: readonly Answered[],
  unitPrice: string,
  reason: string,
): Promise<Decided> {
  // Of a tag, the service delivers the one that is named and then those of the lowest ids.
  const orphans = (await shop.listOrphans()).toSorted((one, other) => one.id - other.id);
  const leaders = new Set(orphans.map((orphan) => orphan.tag_order_id));
  const members = forgotten.filter(
    ({ intent, answer }) => intent.path === '/proxies/buy' && !leaders.has(Number(answer.body['order_id'])),
  );
  for (const tag of new Set(orphans.map((orphan) => orphan.tag))) {
    const left = orphans.filter((orphan) => orphan.tag === tag);
    const deliver = async (userId: number, count: number): Promise<void> => {
      const [first] = left.splice(0, count);
      await shop.asStaff('POST', `/orphans/${first?.id}/deliver`, {
        user_id: userId,
        count,
        period: 30,
        price: unitPrice,
        reason,
      });
    };
    const leader = left[0] as Orphan;
    // The orders of a batch were placed in the same moment.
    const distance = ({ answer }: Answered): number =>
      Math.abs(Number(answer.body['order_id']) - leader.tag_order_id);
    members.sort((one, other) => distance(one) - distance(other));
    const own = forgotten.find(({ answer }) => answer.body['order_id'] === leader.tag_order_id);
    await deliver(leader.tag_user_id, Math.min(own?.intent.body.count ?? left.length, left.length));
    while (left.length > 0) {
      const at = members.findIndex(
        ({ intent: { body } }) => body.country === leader.country && (body.count ?? 1) <= left.length,
      );
      const [member] = at < 0 ? [] : members.splice(at, 1);
      // Of a member that nobody was told of, nobody knows whose it was.
      await deliver(
        member?.intent.customer.id ?? leader.tag_user_id,
        member?.intent.body.count ?? left.length,
      );
    }
  }
  const prolongations = await shop.listFoundProlongations();
  for (const { id } of prolongations) {
    await shop.asStaff('POST', `/found-prolongations/${id}/charge`, { price: unitPrice, reason });
  }
  return { orphans: orphans.length, prolongations: prolongations.length };
}
