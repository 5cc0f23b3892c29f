import type { Ledger } from '../book/ledger';
import type { ProxyExits } from '../exits/proxy-exits';
import type { SandboxClock } from '../sandbox-clock';
import type { Query } from './query';

export interface Provider {
  readonly ledger: Ledger;
  readonly clock: SandboxClock;
  readonly exits: ProxyExits;
  /** A port of this machine that takes connections, for `check` to reach through a proxy. */
  reachablePort(): number;
}

/** What a fault changes about how a purchase or prolongation is carried out. */
export interface Terms {
  /** So many fewer are delivered and charged than asked for. */
  shortBy: number;
  /** For so long getproxy does not show the effect. */
  hiddenForMs: number;
}

export const ORDINARY_TERMS: Terms = { shortBy: 0, hiddenForMs: 0 };

/** Answers the fields beside the envelope. Throws WireError; nothing has happened then. */
export type WireMethod = (
  provider: Provider,
  query: Query,
  terms: Terms,
) => Record<string, unknown> | Promise<Record<string, unknown>>;
