import { AppConfig } from '../../src/config';
import { OrderWaiters } from '../../src/orders';
import { OrderPlacement } from '../../src/orders/placing/order-placement';
import type { TestService } from './test-service';

/** Gives the orders that are placed during `work` another PURCHASE_WAIT_MS. */
export async function withPurchaseWait<Result>(
  { app }: TestService,
  waitMs: number,
  work: () => Promise<Result>,
): Promise<Result> {
  const config = app.get<unknown, AppConfig>(AppConfig);
  const waiting = [app.get(OrderPlacement), app.get(OrderWaiters)];
  const changed: unknown = Object.create(config, { purchases: { value: { waitMs } } });
  for (const one of waiting) Reflect.set(one, 'config', changed);
  try {
    return await work();
  } finally {
    for (const one of waiting) Reflect.set(one, 'config', config);
  }
}
