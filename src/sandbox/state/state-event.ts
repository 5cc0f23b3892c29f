import type { Version } from '../catalog/catalog';

export type ProxyType = 'http' | 'socks';

export interface SaleEvent {
  kind: 'sold';
  orderId: number;
  atMs: number;
  descr: string;
  country: string;
  version: Version;
  type: ProxyType;
  periodDays: number;
  /** Number of requested proxies. `delivered` is lower only under a `short-list` fault. */
  count: number;
  delivered: number;
  /** The sale's proxy ids are consecutive. */
  firstProxyId: number;
  priceKopecks: number;
  endsAtS: number;
  /** Until this time, getproxy hides the proxies. */
  hiddenUntilMs?: number;
}

export interface ProlongationEvent {
  kind: 'prolonged';
  orderId: number;
  atMs: number;
  periodDays: number;
  priceKopecks: number;
  proxies: Array<{ id: number; fromS: number; toS: number; priceKopecks: number }>;
  /** Until this time, getproxy shows the previous expiries. */
  hiddenUntilMs?: number;
}

/** Line of the journal. Replaying all lines reproduces the state. */
export type StateEvent =
  | { kind: 'account'; apiKey: string; secret: string; userId: string }
  | { kind: 'ports'; http: number; socks: number }
  | SaleEvent
  | ProlongationEvent
  | { kind: 'described'; ids: number[]; descr: string }
  | { kind: 'retyped'; ids: number[]; type: ProxyType }
  | { kind: 'deleted'; ids: number[]; atMs: number }
  | { kind: 'moved'; id: number; host: string | null; port: number | null }
  | { kind: 'dated'; id: number; endsAtS: number }
  | { kind: 'balance'; kopecks: number }
  | { kind: 'stock'; version: Version; country: string; available: number }
  | { kind: 'price'; version: Version; periodDays: number; kopecks: number | null }
  | { kind: 'clock'; offsetMs: number };
