import { OrderClaims } from '../../src/orders/transitions/order-claims';
import type { TestService } from './test-service';

/** Stops a service from sending queued orders that it has not placed itself. @returns ends it */
export function lookAway({ app }: TestService): () => void {
  const look = jest
    .spyOn(app.get(OrderClaims), 'readQueue')
    .mockResolvedValue({ hasReady: false, hasUnread: false });
  return () => look.mockRestore();
}
