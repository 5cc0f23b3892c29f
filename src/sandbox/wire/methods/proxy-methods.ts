import { isIP } from 'node:net';
import { LISTING_STATES, shownEndS } from '../../state/listing';
import type { SoldProxy } from '../../state/sale-record';
import type { Query } from '../query';
import { WireError } from '../wire-error';
import { moscowTime, wireList } from '../wire-formats';
import type { Provider, WireMethod } from './wire-method';

const MAX_LIMIT = 1000;
const CHECK_TIME_S = 0.012;

export const getproxy: WireMethod = (provider, query) => {
  const { store, dialect } = provider;
  const page = Math.max(query.findNumber('page') ?? 1, 1);
  const limit = Math.min(query.findNumber('limit') || MAX_LIMIT, MAX_LIMIT);
  const state = LISTING_STATES.find((each) => each === query.find('state')) ?? 'all';
  const listing = { state, descr: query.find('descr'), page, limit };
  const proxies = store.state.list(listing, dialect.current);
  return {
    list_count: proxies.length,
    list: wireList(
      proxies.map((proxy) => listedProxy(proxy, provider)),
      query.has('nokey'),
    ),
  };
};

export const setdescr: WireMethod = (provider, query) => {
  const descr = query.findDescr('new');
  if (descr === null) throw new WireError(250);
  const ids = getChosen(provider, query, 'old').map(({ id }) => id);
  provider.store.record({ kind: 'described', ids, descr });
  return { count: ids.length };
};

export const settype: WireMethod = (provider, query) => {
  const ids = query.getIds();
  const type = query.findType();
  if (type === undefined) throw new WireError(260);
  const proxies = findKnownProxies(provider, ids);
  // According to PROXY6's documentation, a call that would change no proxy fails with this error.
  if (proxies.every((proxy) => proxy.type === type)) throw new WireError(30);
  provider.store.record({ kind: 'retyped', ids: proxies.map(({ id }) => id), type });
  return {};
};

/** Deletes proxies without a refund and without returning them to stock. */
export const deleteProxies: WireMethod = (provider, query) => {
  const ids = getChosen(provider, query, 'descr').map(({ id }) => id);
  provider.store.record({ kind: 'deleted', ids, atMs: provider.store.state.nowMs() });
  return { count: ids.length };
};

export const check: WireMethod = (provider, query) => {
  const ids = query.findIds() ?? [findIdIn(provider, query)];
  const [id, ...others] = ids;
  if (id === undefined || others.length > 0) throw new WireError(230);
  if (id === null) return { proxy_id: null, proxy_status: false, proxy_time: 0 };
  const [proxy] = findKnownProxies(provider, [id]);
  const works = proxy !== undefined && provider.proxyServers.serves(proxy);
  return { proxy_id: id, proxy_status: works, proxy_time: works ? CHECK_TIME_S : 0 };
};

/** Ignores the addresses: proxies still require a login, because it selects the proxy. */
export const ipauth: WireMethod = (_provider, query) => {
  const addresses = query.find('ip');
  const isGood = addresses === 'delete' || addresses?.split(',').every((each) => isIP(each) !== 0);
  if (!isGood) throw new WireError(105);
  return {};
};

/** @returns null if the account does not own the proxy */
function findIdIn({ proxyServers, store }: Provider, query: Query): number | null {
  const text = query.find('proxy');
  if (text === null) throw new WireError(230);
  const match = /^([\d.]{7,15}):(\d{1,5}):([^:]{1,255}):([^:]{1,255})$/.exec(text);
  const [, , port = '', login = '', password = ''] = match ?? [];
  if (!match || Number(port) === 0 || Number(port) > 65_535) throw new WireError(280);
  const id = proxyServers.credentials.findIdOf(login);
  const proxy = id === null ? null : store.state.findProxy(id);
  return proxy && proxyServers.credentials.passwordOf(proxy.id) === password ? proxy.id : null;
}

/** Returns the proxies in `ids` or, without `ids`, those whose comment equals the `descrParameter` value. */
function getChosen(provider: Provider, query: Query, descrParameter: string): SoldProxy[] {
  const ids = query.findIds();
  if (ids !== null) return findKnownProxies(provider, ids);
  const descr = query.find(descrParameter);
  if (descr === null) throw new WireError(230);
  const proxies = provider.store.state.findByDescr(descr);
  if (proxies.length === 0) throw new WireError(404);
  return proxies;
}

/** Ignores unknown ids. @throws WireError if no id is known */
export function findKnownProxies({ store }: Provider, ids: readonly number[]): SoldProxy[] {
  const proxies = ids.flatMap((id) => store.state.findProxy(id) ?? []);
  if (proxies.length === 0) throw new WireError(404);
  return proxies;
}

export function boughtProxy(proxy: SoldProxy, { proxyServers, store }: Provider) {
  const nowMs = store.state.nowMs();
  const { host, port } = proxyServers.addressOf(proxy);
  const startsAtS = Math.floor(proxy.sale.atMs / 1000);
  const endsAtS = shownEndS(proxy, nowMs);
  return {
    id: String(proxy.id),
    version: proxy.sale.version,
    ip: proxyServers.credentials.exitAddressOf(proxy.id, proxy.sale.version),
    host,
    port: String(port),
    user: proxyServers.credentials.loginOf(proxy.id),
    pass: proxyServers.credentials.passwordOf(proxy.id),
    type: proxy.type,
    date: moscowTime(startsAtS),
    date_end: moscowTime(endsAtS),
    unixtime: startsAtS,
    unixtime_end: endsAtS,
    active: endsAtS > nowMs / 1000 ? '1' : '0',
  };
}

function listedProxy(proxy: SoldProxy, provider: Provider) {
  return { ...boughtProxy(proxy, provider), country: proxy.sale.country, descr: proxy.descr };
}
