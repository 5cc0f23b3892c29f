import { TokensService } from '../../src/auth';
import { Money } from '../../src/common';
import type { NewOrder } from '../../src/orders/placing/new-order';
import type { TestService, TestUser } from './test-service';

export async function newPurchase(
  { app }: TestService,
  { id, token }: TestUser,
  roubles: string,
): Promise<NewOrder> {
  const caller = await app.get(TokensService).findCaller(token);
  return {
    userId: id,
    kind: 'purchase',
    country: 'ru',
    version: '6',
    period: 30,
    count: 1,
    proxyType: 'http',
    proxyId: null,
    unitPrice: Money.parse(roubles),
    total: Money.parse(roubles),
    maxPrice: null,
    markup: { percent: '20', ruleId: null },
    provider: 'px6',
    providerPrice: roubles,
    idempotency: null,
    requestId: null,
    tokenId: caller?.tokenId ?? 0,
    dailyLimit: null,
    limitedBy: [],
  };
}
