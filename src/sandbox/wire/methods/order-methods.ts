import { CATALOG } from '../../catalog/catalog';
import { WireError } from '../wire-error';
import { moscowTime, priceSingle, roubles, wireList } from '../wire-formats';
import { unitPriceOf } from './catalog-methods';
import { boughtProxy, findKnownProxies } from './proxy-methods';
import type { EffectOptions, Provider, WireMethod } from './wire-method';

const DAY_S = 86_400;

/** Every call is a new purchase, even a retry. `auto_prolong` is ignored. */
export const buy: WireMethod = (provider, query, effect) => {
  const { store } = provider;
  const { state } = store;
  const count = query.getCount();
  const periodDays = query.getPeriodDays();
  const country = query.getCountry();
  const version = query.getVersion();
  const type = query.findType() ?? 'http';
  const descr = query.findDescr('descr') ?? '';
  const unitKopecks = unitPriceOf(state, version, periodDays);
  if (!CATALOG.sells(version, country)) throw new WireError(220);
  if (state.available(version, country) < count) throw new WireError(300);
  if (state.balanceKopecks < unitKopecks * count) throw new WireError(400);

  const orderId = state.nextOrderId();
  const firstProxyId = state.nextProxyId();
  const delivered = Math.max(count - effect.shortBy, 0);
  const priceKopecks = unitKopecks * delivered;
  store.record({
    kind: 'sold',
    orderId,
    atMs: state.nowMs(),
    descr,
    country,
    version,
    type,
    periodDays,
    count,
    delivered,
    firstProxyId,
    priceKopecks,
    endsAtS: state.nowS() + periodDays * DAY_S,
    ...hidden(provider, effect),
  });
  const ids = Array.from({ length: delivered }, (_, offset) => firstProxyId + offset);
  const proxies = delivered > 0 ? findKnownProxies(provider, ids) : [];
  return {
    order_id: orderId,
    price_single: priceSingle(unitKopecks, periodDays),
    count,
    price: roubles(priceKopecks),
    period: periodDays,
    country,
    list: wireList(
      proxies.map((proxy) => boughtProxy(proxy, provider)),
      query.has('nokey'),
    ),
  };
};

/**
 * Prolongs all known ids, or none if the balance is too low. Unlike other lists, the list in its response
 * contains ids as numbers.
 */
export const prolong: WireMethod = (provider, query, effect) => {
  const { store } = provider;
  const { state } = store;
  const periodDays = query.getPeriodDays();
  const known = findKnownProxies(provider, query.getIds());
  const nowS = state.nowS();
  const all = known.map(({ id, endsAtS, sale }) => {
    const priceKopecks = unitPriceOf(state, sale.version, periodDays);
    return { id, fromS: endsAtS, toS: Math.max(endsAtS, nowS) + periodDays * DAY_S, priceKopecks };
  });
  if (state.balanceKopecks < totalOf(all)) throw new WireError(400);

  const orderId = state.nextOrderId();
  const proxies = all.slice(0, Math.max(all.length - effect.shortBy, 0));
  const priceKopecks = totalOf(proxies);
  store.record({
    kind: 'prolonged',
    orderId,
    atMs: state.nowMs(),
    periodDays,
    priceKopecks,
    proxies,
    ...hidden(provider, effect),
  });
  const [unitKopecks = 0, ...others] = new Set(proxies.map((proxy) => proxy.priceKopecks));
  return {
    order_id: orderId,
    // If the prices of the proxies differ, there is no single price to return.
    ...(others.length === 0 && { price_single: priceSingle(unitKopecks, periodDays) }),
    price: roubles(priceKopecks),
    period: periodDays,
    count: proxies.length,
    list: wireList(
      proxies.map(({ id, toS }) => ({ id, date_end: moscowTime(toS), unixtime_end: toS })),
      query.has('nokey'),
    ),
  };
};

function totalOf(priced: ReadonlyArray<{ priceKopecks: number }>): number {
  return priced.reduce((sum, { priceKopecks }) => sum + priceKopecks, 0);
}

function hidden({ store }: Provider, { hiddenForMs }: EffectOptions): { hiddenUntilMs?: number } {
  return hiddenForMs > 0 ? { hiddenUntilMs: store.state.nowMs() + hiddenForMs } : {};
}
