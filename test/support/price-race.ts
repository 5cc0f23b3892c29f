import { PriceRulesService } from '../../src/pricing';
import { eventually } from './built-service';
import type { PriceLead } from './price-lead';
import type { TestService, TestUser } from './test-service';

export interface PriceRace {
  readonly placed: number;
  readonly refused: number;
  /** Charges above the guard, or refusals that name a price within the guard. */
  readonly chargedAboveGuard: readonly string[];
}

/** At a rest, the price stays until an order was quoted and placed, even on a slow machine. */
const RISES_BETWEEN_RESTS = 10;
const ABOVE = /^"The price is (\d+\.\d\d), above the max_price of (\d+\.\d\d)"$/;

/** Raises the price again and again while buyers order with the quoted price as their guard. */
export async function racePrices(
  service: TestService,
  priceLead: PriceLead,
  user: TestUser,
  { rises, buyers }: { readonly rises: number; readonly buyers: number },
): Promise<PriceRace> {
  const rules = service.app.get(PriceRulesService);
  const chargedAboveGuard: string[] = [];
  let placed = 0;
  let refused = 0;
  let responded = 0;
  const rising = new AbortController();

  async function raise(): Promise<void> {
    let last: number | undefined;
    for (let rise = 1; rise <= rises; rise += 1) {
      const rule = { userId: user.id, markupPercent: String(20 + rise) };
      last = (await rules.add(rule, { by: 'anna', reason: `rise ${rise}` }, last)).id;
      await priceLead.applyChanges();
      if (rise % RISES_BETWEEN_RESTS !== 0) continue;
      // One buyer has then ordered twice, so the second order began after the rise.
      const resting = responded + buyers + 1;
      await eventually(() => responded >= resting);
    }
    rising.abort();
  }

  async function order(): Promise<void> {
    const { data: quote } = await user.api.GET('/price', { params: { query: { count: 1, period: 30 } } });
    const guard = quote?.price_final ?? '';
    const { data, error, response } = await user.buy({ max_price: guard });
    if (data) {
      placed += 1;
      if (Number(data.price_charged) > Number(guard)) {
        chargedAboveGuard.push(`${data.price_charged} charged, ${guard} allowed`);
      }
      return;
    }
    const detail = JSON.stringify(error.detail);
    const [, price, named] = ABOVE.exec(detail) ?? [];
    if (response.status === 409 && Number(price) > Number(guard) && named === guard) refused += 1;
    else chargedAboveGuard.push(`${response.status} ${detail}`);
  }

  async function buyOn(): Promise<void> {
    while (!rising.signal.aborted) {
      await order();
      responded += 1;
    }
  }

  await Promise.all([raise(), ...Array.from({ length: buyers }, buyOn)]);
  const found = await service.dataSource.query<{ id: number }[]>(
    'SELECT id FROM orders WHERE captured > max_price OR hold_amount > max_price',
  );
  return {
    placed,
    refused,
    chargedAboveGuard: [...chargedAboveGuard, ...found.map(({ id }) => `order ${id}`)],
  };
}
