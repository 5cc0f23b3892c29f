import { OrderClaims } from '../../src/orders/transitions/order-claims';
import type { TestService } from './test-service';

/** Has a service leave alone what is queued and what it has not placed itself. @returns ends it */
export function lookAway({ app }: TestService): () => void {
  const look = jest
    .spyOn(app.get(OrderClaims), 'readQueue')
    .mockResolvedValue({ hasReady: false, hasUnread: false });
  return () => look.mockRestore();
}
