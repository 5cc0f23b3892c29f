import { CATALOG, type Version, VERSIONS } from '../../catalog/catalog';
import type { ProviderState } from '../../state/provider-state';
import { WireError } from '../wire-error';
import { priceSingle, roubles } from '../wire-formats';
import type { WireMethod } from './wire-method';

export const getprice: WireMethod = ({ store: { state } }, query) => {
  const version = query.getVersion();
  if (!query.has('period')) return { data: priceTable(state) };
  const count = query.getCount();
  const period = query.getPeriodDays();
  const unitKopecks = unitPriceOf(state, version, period);
  return {
    price: roubles(unitKopecks * count),
    price_single: priceSingle(unitKopecks, period),
    period,
    count,
  };
};

/** @throws WireError if the version or the period has no price */
export function unitPriceOf(state: ProviderState, version: Version, periodDays: number): number {
  const kopecks = state.findPrice(version, periodDays);
  if (kopecks === 0 || state.prices.get(version)?.size === 0) throw new WireError(410);
  if (kopecks === null) throw new WireError(210);
  return kopecks;
}

function priceTable({ prices }: ProviderState): Record<string, Record<string, number>> {
  const sold = VERSIONS.map((version) => [version, [...(prices.get(version) ?? [])]] as const);
  return Object.fromEntries(
    sold.flatMap(([version, byDays]) => {
      const amounts = byDays.map(([days, kopecks]) => [days, roubles(kopecks)]);
      return byDays.length === 0 ? [] : [[version, Object.fromEntries(amounts)]];
    }),
  );
}

export const getcount: WireMethod = ({ store: { state } }, query) => {
  const country = query.getCountry();
  return { count: state.available(query.getVersion(), country) };
};

export const getcountry: WireMethod = (_provider, query) => ({
  list: CATALOG.countriesOf(query.getVersion()),
});
