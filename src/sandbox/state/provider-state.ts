import { CATALOG, type Version, VERSIONS } from '../catalog/catalog';
import type { Dialect } from '../dialect';
import { isKnown, type ListingQuery, listPage } from './listing';
import { type ProxyChange, SaleRecord, type SoldProxy } from './sale-record';
import type { ProlongationEvent, SaleEvent, StateEvent } from './state-event';

const INITIAL_BALANCE_KOPECKS = 1_000_000_00;
const FIRST_ORDER_ID = 7_400_001;
const FIRST_PROXY_ID = 31_250_001;

export interface Account {
  apiKey: string;
  /** Logins and passwords of proxies are derived from this secret. */
  secret: string;
  userId: string;
}

/** The state is restored by replaying the journal's events, so only `apply` may change it. */
export class ProviderState {
  account: Account | null = null;
  ports: { http: number; socks: number } | null = null;
  balanceKopecks = INITIAL_BALANCE_KOPECKS;
  clockOffsetMs = 0;
  readonly prolongations: ProlongationEvent[] = [];
  readonly stock = new Map(VERSIONS.map((version) => [version, CATALOG.initialStockOf(version)]));
  readonly prices = new Map(VERSIONS.map((version) => [version, CATALOG.pricesOf(version)]));
  /** In ascending order of proxy ids; `findRecord` relies on this. */
  private readonly records: SaleRecord[] = [];
  /** Sales by comment. Also contains each sale under its proxies' former comments. */
  private readonly recordsByDescr = new Map<string, Set<SaleRecord>>();
  private lastOrderId = FIRST_ORDER_ID - 1;
  private lastProxyId = FIRST_PROXY_ID - 1;

  nowMs(): number {
    return Date.now() + this.clockOffsetMs;
  }

  nowS(): number {
    return Math.floor(this.nowMs() / 1000);
  }

  get sales(): SaleEvent[] {
    return this.records.map(({ sale }) => sale);
  }

  nextOrderId(): number {
    return this.lastOrderId + 1;
  }

  nextProxyId(): number {
    return this.lastProxyId + 1;
  }

  available(version: Version, country: string): number {
    return this.stock.get(version)?.get(country) ?? 0;
  }

  findPrice(version: Version, periodDays: number): number | null {
    return this.prices.get(version)?.get(periodDays) ?? null;
  }

  /** @returns null for a proxy that was deleted or expired over a week ago */
  findProxy(id: number): SoldProxy | null {
    const proxy = this.findRecord(id)?.getProxy(id);
    return proxy && isKnown(proxy, this.nowMs()) ? proxy : null;
  }

  findByDescr(descr: string): SoldProxy[] {
    const nowMs = this.nowMs();
    return this.recordsWith(descr)
      .flatMap((record) => [...record.proxies()])
      .filter((proxy) => proxy.descr === descr && isKnown(proxy, nowMs));
  }

  list(query: ListingQuery, dialect: Dialect): SoldProxy[] {
    const { descr } = query;
    const records =
      descr !== null && dialect.descrFilter === 'exact' ? this.recordsWith(descr) : this.records;
    return listPage(records, query, dialect, this.nowMs());
  }

  *changedProxies(): Generator<SoldProxy> {
    for (const record of this.records) yield* record.changedProxies();
  }

  apply(event: StateEvent): void {
    switch (event.kind) {
      case 'account':
        this.account = { apiKey: event.apiKey, secret: event.secret, userId: event.userId };
        break;
      case 'ports':
        this.ports = { http: event.http, socks: event.socks };
        break;
      case 'sold':
        this.applySale(event);
        break;
      case 'prolonged':
        this.applyProlongation(event);
        break;
      case 'described':
        for (const id of event.ids) this.describe(id, event.descr);
        break;
      case 'retyped':
        for (const id of event.ids) this.change(id, { type: event.type });
        break;
      case 'deleted':
        for (const id of event.ids) this.change(id, { goneAtMs: event.atMs });
        break;
      case 'moved':
        this.change(event.id, { host: event.host, port: event.port });
        break;
      case 'dated':
        this.change(event.id, { endsAtS: event.endsAtS, shownEarlier: null });
        break;
      case 'balance':
        this.balanceKopecks = event.kopecks;
        break;
      case 'stock':
        this.stock.get(event.version)?.set(event.country, event.available);
        break;
      case 'price':
        if (event.kopecks === null) this.prices.get(event.version)?.delete(event.periodDays);
        else this.prices.get(event.version)?.set(event.periodDays, event.kopecks);
        break;
      case 'clock':
        this.clockOffsetMs = event.offsetMs;
        break;
    }
  }

  private applySale(sale: SaleEvent): void {
    const { version, country, delivered } = sale;
    const record = new SaleRecord(sale);
    this.records.push(record);
    this.index(record, sale.descr);
    this.balanceKopecks -= sale.priceKopecks;
    this.stock.get(version)?.set(country, this.available(version, country) - delivered);
    this.lastOrderId = Math.max(this.lastOrderId, sale.orderId);
    this.lastProxyId = Math.max(this.lastProxyId, sale.firstProxyId + delivered - 1);
  }

  private applyProlongation(prolongation: ProlongationEvent): void {
    this.prolongations.push(prolongation);
    this.balanceKopecks -= prolongation.priceKopecks;
    this.lastOrderId = Math.max(this.lastOrderId, prolongation.orderId);
    const untilMs = prolongation.hiddenUntilMs;
    for (const { id, fromS, toS } of prolongation.proxies) {
      const shownEarlier = untilMs === undefined ? null : { endsAtS: fromS, untilMs };
      this.change(id, { endsAtS: toS, shownEarlier });
    }
  }

  private describe(id: number, descr: string): void {
    const record = this.findRecord(id);
    if (!record) return;
    record.change(id, { descr });
    this.index(record, descr);
  }

  private change(id: number, change: ProxyChange): void {
    this.findRecord(id)?.change(id, change);
  }

  private index(record: SaleRecord, descr: string): void {
    const records = this.recordsByDescr.get(descr);
    if (records) records.add(record);
    else this.recordsByDescr.set(descr, new Set([record]));
  }

  private recordsWith(descr: string): SaleRecord[] {
    const records = [...(this.recordsByDescr.get(descr) ?? [])];
    return records.sort((a, b) => a.sale.firstProxyId - b.sale.firstProxyId);
  }

  private findRecord(id: number): SaleRecord | null {
    let low = 0;
    let high = this.records.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const record = this.records[middle];
      if (!record) return null;
      if (record.has(id)) return record;
      if (record.sale.firstProxyId <= id) low = middle + 1;
      else high = middle;
    }
    return null;
  }
}
