import {
  ALWAYS_WITH_EFFECT,
  FAULT_KINDS,
  type FaultKind,
  type FaultSpec,
  isFaultKind,
  type RequestFilter,
} from '../wire/faults/fault';
import { GATE_STAGES, type GateSpec } from '../wire/faults/gates';
import type { Latencies, Latency } from '../wire/latency';
import { WIRE_METHOD_NAMES } from '../wire/methods/wire-methods';
import { isWireErrorId } from '../wire/wire-error';
import { BadRequestError, Fields } from './fields';

const METHODS = [...WIRE_METHOD_NAMES, 'any' as const];
const KINDS = Object.keys(FAULT_KINDS).filter(isFaultKind);
const ONE_DAY_MS = 86_400_000;

const FAULT_FIELDS = (
  'method kind match times probability seed effect beforeMs afterMs shortBy hiddenForMs ' +
  'status errorId disconnect bytes intervalMs currency'
).split(' ');

export function readFaultSpec(body: unknown): FaultSpec {
  const fields = new Fields(body, FAULT_FIELDS);
  const spec: FaultSpec = { ...readFilter(fields), kind: fields.getOneOf('kind', KINDS) };
  if (fields.has('times')) spec.times = fields.isNull('times') ? null : fields.getInteger('times', 1);
  if (fields.has('probability')) spec.probability = fields.getNumber('probability', 0, 1);
  if (fields.has('seed')) spec.seed = fields.getInteger('seed');
  if (fields.has('beforeMs')) spec.beforeMs = fields.getInteger('beforeMs', 0, ONE_DAY_MS);
  if (fields.has('afterMs')) spec.afterMs = fields.getInteger('afterMs', 0, ONE_DAY_MS);
  if (fields.has('shortBy')) spec.shortBy = fields.getInteger('shortBy', 1);
  if (fields.has('hiddenForMs')) spec.hiddenForMs = fields.getInteger('hiddenForMs', 1);
  if (fields.has('status')) spec.status = fields.getInteger('status', 400, 599);
  if (fields.has('errorId')) spec.errorId = readErrorId(fields);
  if (fields.has('disconnect')) spec.disconnect = fields.getBoolean('disconnect');
  if (fields.has('bytes')) spec.bytes = fields.getInteger('bytes', 1);
  if (fields.has('intervalMs')) spec.intervalMs = fields.getInteger('intervalMs', 0, ONE_DAY_MS);
  if (fields.has('currency')) spec.currency = fields.getString('currency');
  if (fields.has('effect')) spec.effect = readEffect(fields, spec.kind);
  return spec;
}

export function readGateSpec(body: unknown): GateSpec {
  const fields = new Fields(body, ['method', 'stage', 'match']);
  return { ...readFilter(fields), stage: fields.getOneOf('stage', GATE_STAGES) };
}

/** `{"buy": 6000, "any": {"minMs": 20, "maxMs": 80}}` */
export function readLatencies(body: unknown): Latencies {
  const fields = new Fields(body, METHODS);
  const named = METHODS.filter((method) => fields.has(method));
  return Object.fromEntries(named.map((method) => [method, readLatency(fields, method, body)]));
}

function readLatency(fields: Fields, method: string, body: unknown): Latency {
  const value: unknown = Object(body)[method];
  if (typeof value !== 'object') return fields.getInteger(method, 0, ONE_DAY_MS);
  const range = new Fields(value, ['minMs', 'maxMs']);
  const minMs = range.getInteger('minMs', 0, ONE_DAY_MS);
  return { minMs, maxMs: range.getInteger('maxMs', minMs, ONE_DAY_MS) };
}

function readFilter(fields: Fields): RequestFilter {
  const filter: RequestFilter = { method: fields.getOneOf('method', METHODS) };
  if (fields.has('match')) filter.match = fields.getStrings('match');
  return filter;
}

function readErrorId(fields: Fields) {
  const errorId = fields.getInteger('errorId');
  if (!isWireErrorId(errorId)) {
    throw new BadRequestError('errorId must be one of the provider’s error numbers');
  }
  return errorId;
}

function readEffect(fields: Fields, kind: FaultKind): boolean {
  const effect = fields.getBoolean('effect');
  if (!effect && ALWAYS_WITH_EFFECT.includes(kind)) {
    throw new BadRequestError(`${kind} always has its effect`);
  }
  return effect;
}
