import { Money } from '../../common';
import { refundLink, userLinks } from '../links';
import type { OrderRecord } from './staff-orders.dto';

function reviewGuidance({ id, kind, state, failure }: OrderRecord) {
  if (state !== 'review') return { review_reason: null, next_steps: [] };
  const isPurchase = kind === 'purchase';
  const evidence = isPurchase ? 'proxies under batch.order_reference' : 'a rental end after date_end_before';
  const decide = `send POST /staff/orders/${id}/decide with the decision`;
  return {
    review_reason: `It is unknown whether the provider executed the order: ${failure}`,
    next_steps: [
      `Open GET /staff/orders/${id}, and look for ${evidence} in our account at the provider`,
      `If you find such evidence, ${decide} "deliver": the customer pays for the order`,
      `If you are certain that there is no such evidence, ${decide} "cancel": the money is released`,
    ],
  };
}

export function toStaffOrderOut<Order extends OrderRecord>(order: Order) {
  const { id, user_id: userId, captured, refunded } = order;
  const refundable = Money.parse(captured).minus(Money.parse(refunded)).toString();
  const { user, ledger } = userLinks(userId);
  const links = {
    order: `/staff/orders/${id}`,
    user,
    ledger,
    refund: refundLink('orders', { id, refundable }),
  };
  return { ...order, links, refundable, ...reviewGuidance(order) };
}
