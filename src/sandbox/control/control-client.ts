import type { Version } from '../catalog/catalog';
import type { Dialect } from '../dialect';
import type { ProxyFault } from '../proxy-servers/endpoint';
import type { Fault, FaultSpec } from '../wire/faults/fault';
import type { GateSpec, GateVerdict } from '../wire/faults/gates';
import type { Latencies } from '../wire/latency';
import type { Call } from '../wire/received-calls';
import type { StateView } from './views';

/** For tests and benchmarks. Errors contain the control interface's message. */
export class SandboxControl {
  constructor(private readonly address: { controlUrl: string; controlSecret: string }) {}

  getState(): Promise<StateView> {
    return this.request('GET', '/state');
  }

  getCalls(method?: string): Promise<Call[]> {
    return this.request(
      'GET',
      method === undefined ? '/calls' : `/calls?method=${encodeURIComponent(method)}`,
    );
  }

  clearCalls(): Promise<unknown> {
    return this.request('DELETE', '/calls');
  }

  async addFault(spec: FaultSpec): Promise<number> {
    return (await this.request<{ id: number }>('POST', '/faults', spec)).id;
  }

  getFaults(): Promise<Array<Fault & { hits: number }>> {
    return this.request('GET', '/faults');
  }

  resetFaults(): Promise<unknown> {
    return this.request('DELETE', '/faults');
  }

  async addGate(spec: GateSpec): Promise<number> {
    return (await this.request<{ id: number }>('POST', '/gates', spec)).id;
  }

  /** Waits until the gate holds a request and returns the request's parameters. */
  async untilGateReached(id: number, timeoutMs = 60_000): Promise<Record<string, string>> {
    const path = `/gates/${id}/reached?timeoutMs=${timeoutMs}`;
    return (await this.request<{ parameters: Record<string, string> }>('GET', path)).parameters;
  }

  openGate(id: number, verdict: GateVerdict = 'pass'): Promise<unknown> {
    return this.request('POST', `/gates/${id}/open`, { drop: verdict === 'drop' });
  }

  /** @param balance in roubles, such as "1234.50". */
  setBalance(balance: string): Promise<unknown> {
    return this.request('POST', '/balance', { balance });
  }

  setKeys(keys: Readonly<Record<string, string>>): Promise<unknown> {
    return this.request('POST', '/keys', { keys });
  }

  setStock(version: Version, country: string, available: number): Promise<unknown> {
    return this.request('POST', '/stock', { version, country, available });
  }

  /** @param price of one proxy, in roubles; `null` stops selling the period */
  setPrice(version: Version, periodDays: number, price: string | null): Promise<unknown> {
    return this.request('POST', '/prices', { version, periodDays, price });
  }

  setDialect(changes: Partial<Dialect>): Promise<unknown> {
    return this.request('POST', '/dialect', changes);
  }

  setRateLimit(perSecond: number | null): Promise<unknown> {
    return this.request('POST', '/rate-limit', { perSecond });
  }

  setLatencies(latencies: Latencies): Promise<unknown> {
    return this.request('POST', '/latency', latencies);
  }

  setClockOffset(offsetMs: number): Promise<unknown> {
    return this.request('POST', '/clock', { offsetMs });
  }

  changeProxy(id: number, change: { host?: string; port?: number; unixtimeEnd?: number }): Promise<unknown> {
    return this.request('POST', `/proxies/${id}`, change);
  }

  setProxyFault(id: number, fault: ProxyFault | null): Promise<unknown> {
    return this.request('POST', `/proxy-servers/${id}`, { fault });
  }

  withdrawProxy(id: number): Promise<unknown> {
    return this.request('DELETE', `/proxies/${id}`);
  }

  private async request<T>(method: string, path: string, body?: object): Promise<T> {
    const { controlUrl, controlSecret } = this.address;
    const response = await fetch(`${controlUrl}${path}`, {
      method,
      headers: { authorization: `Bearer ${controlSecret}` },
      ...(body && { body: JSON.stringify(body) }),
    });
    if (!response.ok) {
      throw new Error(`${method} ${path} got response ${response.status}: ${await response.text()}`);
    }
    // The response is not validated, because the client and the control interface share these types.
    const json: T = JSON.parse(await response.text());
    return json;
  }
}
