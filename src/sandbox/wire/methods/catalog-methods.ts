import { CATALOG, VERSIONS } from '../../catalog/catalog';
import { WireError } from '../wire-error';
import { roubles } from '../wire-formats';
import type { WireMethod } from './wire-method';

export const getprice: WireMethod = ({ store: { state } }, query) => {
  const version = query.getVersion();
  if (!query.has('count') && !query.has('period')) {
    return {
      data: Object.fromEntries(
        VERSIONS.map((each) => [
          each,
          Object.fromEntries(
            [...(state.prices.get(each) ?? [])].map(([days, kopecks]) => [days, roubles(kopecks)]),
          ),
        ]),
      ),
    };
  }
  const count = query.getCount();
  const period = query.getPeriodDays();
  const unitKopecks = state.findPrice(version, period);
  if (unitKopecks === null) throw new WireError(210);
  if (unitKopecks === 0) throw new WireError(410);
  return {
    price: roubles(unitKopecks * count),
    // Per proxy and day, as in the documented example.
    price_single: roubles(Math.round(unitKopecks / period)),
    period,
    count,
  };
};

export const getcount: WireMethod = ({ store: { state } }, query) => {
  const country = query.getCountry();
  return { count: state.available(query.getVersion(), country) };
};

export const getcountry: WireMethod = (_provider, query) => ({
  list: CATALOG.countriesOf(query.getVersion()),
});
