import type { WireMethodName } from '../methods/wire-methods';
import type { WireErrorId } from '../wire-error';

/** The kinds of faults; true: the call takes effect unless the fault's `effect` is false. */
export const FAULT_KINDS = {
  /** Closes the connection instead of responding. */
  'answer-lost': true,
  /** Resets the connection instead of responding. */
  reset: false,
  /** Never responds. */
  hang: true,
  /** The regular response, delayed by `beforeMs` and `afterMs`. */
  late: true,
  /** HTTP `status` with a plain text. */
  'http-status': false,
  /** `"status":"no"` with `errorId`. */
  error: false,
  /** HTTP 200 with a web page. */
  html: false,
  /** HTTP 200 with half of the JSON; with `disconnect` Content-Length promises all of it. */
  'truncated-json': true,
  /** The response in pieces of `bytes`, one every `intervalMs`. */
  drip: true,
  /** Confirms the requested count, but delivers and charges `shortBy` fewer. */
  'short-list': true,
  /** The regular response, but getproxy does not show the effect for `hiddenForMs`. */
  'late-listing': true,
  /** The response names `currency`. */
  'wrong-currency': true,
} as const;

export type FaultKind = keyof typeof FAULT_KINDS;

export function isFaultKind(kind: string): kind is FaultKind {
  return Object.hasOwn(FAULT_KINDS, kind);
}

/** Kinds that send the call's own response, which does not exist without the effect. */
export const ALWAYS_WITH_EFFECT: readonly FaultKind[] = [
  'late',
  'truncated-json',
  'drip',
  'short-list',
  'late-listing',
  'wrong-currency',
];

/** Selects requests. A value that ends in `*` matches every parameter with that prefix. */
export interface RequestFilter {
  method: WireMethodName | 'any';
  match?: Record<string, string>;
}

/** A fault as a client defines it. Delays, `shortBy` and `hiddenForMs` combine with every kind. */
export interface FaultSpec extends RequestFilter {
  kind: FaultKind;
  /** Maximum number of hits; null: unlimited. Default 1. */
  times?: number | null;
  /** Probability of hitting a matching request. Default 1. */
  probability?: number;
  /** Seed of the random draws, so that a run can be repeated. Default: the fault's id. */
  seed?: number;
  effect?: boolean;
  beforeMs?: number;
  afterMs?: number;
  shortBy?: number;
  hiddenForMs?: number;
  /** Default 502. */
  status?: number;
  /** Default 30. */
  errorId?: WireErrorId;
  disconnect?: boolean;
  /** Default 16. */
  bytes?: number;
  /** Default 100. */
  intervalMs?: number;
  /** Default USD. */
  currency?: string;
}

/** A fault with all defaults. */
export interface Fault extends Required<Omit<FaultSpec, 'match'>> {
  readonly id: number;
  match: Record<string, string>;
}

export function completeFault(id: number, spec: FaultSpec): Fault {
  return {
    match: {},
    times: 1,
    probability: 1,
    seed: id,
    beforeMs: 0,
    afterMs: 0,
    status: 502,
    errorId: 30,
    disconnect: false,
    bytes: 16,
    intervalMs: 100,
    currency: 'USD',
    shortBy: spec.kind === 'short-list' ? 1 : 0,
    hiddenForMs: spec.kind === 'late-listing' ? 5000 : 0,
    effect: FAULT_KINDS[spec.kind],
    ...spec,
    id,
  };
}
