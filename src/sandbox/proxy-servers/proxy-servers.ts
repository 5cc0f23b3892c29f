import type { EventStore } from '../state/event-store';
import { isActive } from '../state/listing';
import type { SoldProxy } from '../state/sale-record';
import type { ProxyType } from '../state/state-event';
import { listenOnFirstFree } from '../system';
import type { Credentials } from './credentials';
import type { Endpoint, ProxyFault } from './endpoint';
import { createHttpEndpoint } from './http-endpoint';
import { createSocksEndpoint } from './socks-endpoint';

const PROXY_HOST = '127.0.0.1';

/** Serves all sold proxies on one port per protocol. The login selects the proxy. */
export class ProxyServers {
  private readonly endpoints: Record<ProxyType, Endpoint>;
  /** Faults by proxy id, kept only in memory. */
  readonly faults = new Map<number, ProxyFault>();

  constructor(
    private readonly store: EventStore,
    readonly credentials: Credentials,
  ) {
    const findFault = (login: string) => this.faults.get(this.credentials.findIdOf(login) ?? 0);
    this.endpoints = {
      http: createHttpEndpoint((login, password) => this.findRefusal('http', login, password), findFault),
      socks: createSocksEndpoint((login, password) => this.findRefusal('socks', login, password), findFault),
    };
  }

  /** Reuses the ports of the last run if they are free. */
  async listen(): Promise<void> {
    const previous = this.store.state.ports;
    const [http, socks] = await Promise.all([
      listenOnFirstFree(this.endpoints.http.server, PROXY_HOST, previous ? [previous.http, 0] : [0]),
      listenOnFirstFree(this.endpoints.socks.server, PROXY_HOST, previous ? [previous.socks, 0] : [0]),
    ]);
    if (http !== previous?.http || socks !== previous.socks) {
      this.store.record({ kind: 'ports', http, socks });
    }
  }

  async close(): Promise<void> {
    await Promise.all([this.endpoints.http.close(), this.endpoints.socks.close()]);
  }

  addressOf(proxy: SoldProxy): { host: string; port: number } {
    return { host: proxy.host ?? PROXY_HOST, port: proxy.port ?? this.portOf(proxy.type) };
  }

  serves(proxy: SoldProxy): boolean {
    const isHere = proxy.host === null && proxy.port === null;
    return isHere && !this.faults.has(proxy.id) && isActive(proxy, this.store.state.nowMs());
  }

  private portOf(type: ProxyType): number {
    const { ports } = this.store.state;
    if (!ports) throw new Error('The proxies are not listening yet');
    return ports[type];
  }

  private findRefusal(protocol: ProxyType, login: string, password: string): string | null {
    const id = this.credentials.findIdOf(login);
    const { state } = this.store;
    const proxy = id === null ? null : state.findProxy(id);
    if (!proxy || this.credentials.passwordOf(proxy.id) !== password) return 'Wrong proxy login or password';
    if (proxy.type !== protocol) return `This proxy is of type ${proxy.type}`;
    return isActive(proxy, state.nowMs()) ? null : 'The rental of this proxy has ended';
  }
}
