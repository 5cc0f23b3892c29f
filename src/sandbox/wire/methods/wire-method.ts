import type { ProxyExits } from '../../exits/proxy-exits';
import type { SandboxClock } from '../../sandbox-clock';
import type { EventStore } from '../../state/event-store';
import type { Query } from '../query';

export interface Provider {
  readonly store: EventStore;
  readonly clock: SandboxClock;
  readonly exits: ProxyExits;
  /** A port of this machine that takes connections, for `check` to reach through a proxy. */
  reachablePort(): number;
}

/** What a fault changes about how a purchase or prolongation is carried out. */
export interface EffectOptions {
  /** So many fewer are delivered and charged than asked for. */
  shortBy: number;
  /** For so long getproxy does not show the effect. */
  hiddenForMs: number;
}

export const DEFAULT_EFFECT: EffectOptions = { shortBy: 0, hiddenForMs: 0 };

/** Answers the fields beside the envelope. Throws WireError; nothing has happened then. */
export type WireMethod = (
  provider: Provider,
  query: Query,
  effect: EffectOptions,
) => Record<string, unknown> | Promise<Record<string, unknown>>;
