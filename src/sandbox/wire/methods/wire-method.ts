import type { Dialect } from '../../dialect';
import type { ProxyServers } from '../../proxy-servers/proxy-servers';
import type { EventStore } from '../../state/event-store';
import type { Query } from '../query';

export interface Provider {
  readonly store: EventStore;
  readonly proxyServers: ProxyServers;
  readonly dialect: { current: Dialect };
}

export interface EffectOptions {
  /** Number of requested proxies that are neither delivered nor charged. */
  shortBy: number;
  hiddenForMs: number;
}

export const DEFAULT_EFFECT: EffectOptions = { shortBy: 0, hiddenForMs: 0 };

/** Returns the fields inside the envelope. A thrown WireError means that nothing was changed. */
export type WireMethod = (
  provider: Provider,
  query: Query,
  effect: EffectOptions,
) => Record<string, unknown> | Promise<Record<string, unknown>>;
