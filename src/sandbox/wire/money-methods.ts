import { CATALOG } from '../catalog/catalog';
import { boughtProxy } from './listed-proxy';
import { getKnown } from './proxy-methods';
import { WireError } from './wire-error';
import { moscowTime, roubles, wireList } from './wire-formats';
import type { Provider, Terms, WireMethod } from './wire-method';

const DAY_S = 86_400;

/** Each call is a purchase of its own: nothing tells a repetition. `auto_prolong` is accepted and has no effect. */
export const buy: WireMethod = (provider, query, terms) => {
  const { ledger, clock } = provider;
  const { book } = ledger;
  const count = query.getCount();
  const periodDays = query.getPeriodDays();
  const country = query.getCountry();
  const version = query.getVersion();
  const type = query.findType() ?? 'http';
  const descr = query.findDescr('descr') ?? '';
  const unitKopecks = book.findPrice(version, periodDays);
  if (unitKopecks === null) throw new WireError(210);
  if (!CATALOG.sells(version, country)) throw new WireError(220);
  if (unitKopecks === 0) throw new WireError(410);
  if (book.available(version, country) < count) throw new WireError(300);
  if (book.balanceKopecks < unitKopecks * count) throw new WireError(400);

  const orderId = book.nextOrderId();
  const firstProxyId = book.nextProxyId();
  const delivered = Math.max(count - terms.shortBy, 0);
  const priceKopecks = unitKopecks * delivered;
  ledger.record({
    kind: 'sold',
    orderId,
    atMs: clock.nowMs(),
    descr,
    country,
    version,
    type,
    periodDays,
    count,
    delivered,
    firstProxyId,
    priceKopecks,
    endsAtS: clock.nowS() + periodDays * DAY_S,
    ...hidden(provider, terms),
  });
  const ids = Array.from({ length: delivered }, (_, offset) => firstProxyId + offset);
  const proxies = delivered > 0 ? getKnown(provider, ids) : [];
  return {
    order_id: orderId,
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
 * Those of the ids that are known are prolonged, all or none for the money. What has ended counts from now, the rest
 * from its end. The id in the list is a number here, unlike everywhere else.
 */
export const prolong: WireMethod = (provider, query, terms) => {
  const { ledger, clock } = provider;
  const { book } = ledger;
  const periodDays = query.getPeriodDays();
  const known = getKnown(provider, query.getIds());
  const nowS = clock.nowS();
  const all = known.map(({ id, endsAtS, sale }) => {
    const priceKopecks = book.findPrice(sale.version, periodDays);
    if (priceKopecks === null) throw new WireError(210);
    if (priceKopecks === 0) throw new WireError(410);
    return { id, fromS: endsAtS, toS: Math.max(endsAtS, nowS) + periodDays * DAY_S, priceKopecks };
  });
  if (book.balanceKopecks < totalOf(all)) throw new WireError(400);

  const orderId = book.nextOrderId();
  const proxies = all.slice(0, Math.max(all.length - terms.shortBy, 0));
  const priceKopecks = totalOf(proxies);
  ledger.record({
    kind: 'prolonged',
    orderId,
    atMs: clock.nowMs(),
    periodDays,
    priceKopecks,
    proxies,
    ...hidden(provider, terms),
  });
  return {
    order_id: orderId,
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

function hidden({ clock }: Provider, { hiddenForMs }: Terms): { hiddenUntilMs?: number } {
  return hiddenForMs > 0 ? { hiddenUntilMs: clock.nowMs() + hiddenForMs } : {};
}
