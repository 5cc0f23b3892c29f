import type { ProxyType, SaleEvent } from './state-event';

export interface SoldProxy {
  readonly id: number;
  readonly sale: SaleEvent;
  readonly type: ProxyType;
  readonly descr: string;
  readonly endsAtS: number;
  /** Host set through the control interface; `null` for the actual host. */
  readonly host: string | null;
  readonly port: number | null;
  readonly goneAtMs: number | null;
  /** Expiry that getproxy shows while a `late-listing` fault hides a prolongation. */
  readonly shownEarlier: { endsAtS: number; untilMs: number } | null;
}

export type ProxyChange = Partial<Omit<SoldProxy, 'id' | 'sale'>>;

/** Stores only proxies that have changed since the sale. */
export class SaleRecord {
  private readonly changed = new Map<number, SoldProxy>();

  constructor(readonly sale: SaleEvent) {}

  get isUniform(): boolean {
    return this.changed.size === 0;
  }

  has(id: number): boolean {
    return id >= this.sale.firstProxyId && id < this.sale.firstProxyId + this.sale.delivered;
  }

  getProxy(id: number): SoldProxy {
    return this.changed.get(id) ?? asSold(id, this.sale);
  }

  change(id: number, change: ProxyChange): void {
    this.changed.set(id, { ...this.getProxy(id), ...change });
  }

  *proxies(): Generator<SoldProxy> {
    const { firstProxyId, delivered } = this.sale;
    for (let id = firstProxyId; id < firstProxyId + delivered; id += 1) yield this.getProxy(id);
  }

  changedProxies(): Iterable<SoldProxy> {
    return this.changed.values();
  }
}

function asSold(id: number, sale: SaleEvent): SoldProxy {
  const { type, descr, endsAtS } = sale;
  return { id, sale, type, descr, endsAtS, host: null, port: null, goneAtMs: null, shownEarlier: null };
}
