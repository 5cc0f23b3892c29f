import type { WireMethodName } from '../wire/methods/wire-methods';
import type { WireErrorId } from '../wire/wire-error';

/** Each kind with whether the call has its effect, unless the order says otherwise. */
export const FAULT_KINDS = {
  /** The connection is closed instead of an answer. */
  'answer-lost': true,
  /** The connection is reset instead of an answer. */
  reset: false,
  /** No answer ever. */
  hang: true,
  /** An ordinary answer, after `beforeMs` and `afterMs`. */
  late: true,
  /** HTTP `status` with a text. */
  'http-status': false,
  /** `"status":"no"` with `errorId`. */
  error: false,
  /** HTTP 200 with a web page. */
  html: false,
  /** HTTP 200 with the first half of the JSON; with `disconnect` the second half was promised and never comes. */
  'truncated-json': true,
  /** The answer, `bytes` at a time every `intervalMs`. */
  drip: true,
  /** Confirms what was asked for, delivers and charges `shortBy` fewer. */
  'short-list': true,
  /** An ordinary answer, but getproxy does not show the effect for `hiddenForMs`. */
  'late-listing': true,
  /** The answer names `currency`. */
  'wrong-currency': true,
} as const;

export type FaultKind = keyof typeof FAULT_KINDS;

export function isFaultKind(kind: string): kind is FaultKind {
  return Object.hasOwn(FAULT_KINDS, kind);
}

/** Kinds that send the call's own answer: without its effect there would be none. */
export const ALWAYS_WITH_EFFECT: readonly FaultKind[] = [
  'late',
  'truncated-json',
  'drip',
  'short-list',
  'late-listing',
  'wrong-currency',
];

/** Which requests something applies to. A value ending in `*` matches what begins with the rest. */
export interface RequestFilter {
  method: WireMethodName | 'any';
  match?: Record<string, string>;
}

/** What is ordered at the control interface. Delays, `shortBy` and `hiddenForMs` combine with every kind. */
export interface FaultSpec extends RequestFilter {
  kind: FaultKind;
  /** How many requests it hits; null: all. Default 1. */
  times?: number | null;
  /** Of hitting a request that it applies to. Default 1. */
  probability?: number;
  /** Of the throws of the dice, so that a run can be repeated. */
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

/** An order with every default filled in. */
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
