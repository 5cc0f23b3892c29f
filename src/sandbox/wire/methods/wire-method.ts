import type { Dialect } from '../../dialect';
import type { ProxyServers } from '../../proxy-servers/proxy-servers';
import type { EventStore } from '../../state/event-store';
import type { Query } from '../query';

export interface Provider {
  readonly store: EventStore;
  readonly proxyServers: ProxyServers;
  readonly dialect: { current: Dialect };
}

/** How a fault changes the effect of a purchase or prolongation. */
export interface EffectOptions {
  /** How many of the requested proxies are not delivered and not charged. */
  shortBy: number;
  /** How long getproxy hides the effect. */
  hiddenForMs: number;
}

export const DEFAULT_EFFECT: EffectOptions = { shortBy: 0, hiddenForMs: 0 };

/** Returns the fields inside the envelope. @throws WireError before any effect */
export type WireMethod = (
  provider: Provider,
  query: Query,
  effect: EffectOptions,
) => Record<string, unknown> | Promise<Record<string, unknown>>;
