import { shownEndS } from '../../state/listing';
import type { SoldProxy } from '../../state/sale-record';
import { moscowTime } from '../wire-formats';
import type { Provider } from './wire-method';

/** A proxy as `buy` lists it. */
export function boughtProxy(proxy: SoldProxy, { exits, store }: Provider) {
  const nowMs = store.state.nowMs();
  const { host, port } = exits.addressOf(proxy);
  const startsAtS = Math.floor(proxy.sale.atMs / 1000);
  const endsAtS = shownEndS(proxy, nowMs);
  return {
    id: String(proxy.id),
    version: proxy.sale.version,
    ip: exits.credentials.exitAddressOf(proxy.id, proxy.sale.version),
    host,
    port: String(port),
    user: exits.credentials.loginOf(proxy.id),
    pass: exits.credentials.passwordOf(proxy.id),
    type: proxy.type,
    date: moscowTime(startsAtS),
    date_end: moscowTime(endsAtS),
    unixtime: startsAtS,
    unixtime_end: endsAtS,
    active: endsAtS > nowMs / 1000 ? '1' : '0',
  };
}

/** A proxy as `getproxy` lists it. */
export function listedProxy(proxy: SoldProxy, provider: Provider) {
  return { ...boughtProxy(proxy, provider), country: proxy.sale.country, descr: proxy.descr };
}
