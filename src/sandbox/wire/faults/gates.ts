import { z } from 'zod';
import type { WireMethodName } from '../methods/wire-methods';
import { appliesTo, filterSchema } from './fault';

/** Stages: before the call's effect, before its response, and halfway through its response. */
export const GATE_STAGES = ['received', 'executed', 'half-sent'] as const;
export type GateStage = (typeof GATE_STAGES)[number];

export const gateSchema = filterSchema.extend({ stage: z.enum(GATE_STAGES) });
export type GateSpec = z.input<typeof gateSchema>;

/** `drop` closes the connection. */
export type GateVerdict = 'pass' | 'drop';

class Gate {
  isTaken = false;
  readonly reached: Promise<Record<string, string>>;
  readonly verdict: Promise<GateVerdict>;
  private announce!: (parameters: Record<string, string>) => void;
  open!: (verdict: GateVerdict) => void;

  constructor(readonly spec: GateSpec) {
    this.reached = new Promise((resolve) => (this.announce = resolve));
    this.verdict = new Promise((resolve) => (this.open = resolve));
  }

  hold(parameters: Record<string, string>): Promise<GateVerdict> {
    this.isTaken = true;
    this.announce(parameters);
    return this.verdict;
  }
}

/** Holds requests at a stage, so that tests can act at exactly that moment. */
export class Gates {
  private readonly gates = new Map<number, Gate>();
  private lastId = 0;
  private isClosed = false;

  add(spec: GateSpec): number {
    this.lastId += 1;
    this.gates.set(this.lastId, new Gate(spec));
    return this.lastId;
  }

  /** Each gate holds only one request. */
  async hold(
    stage: GateStage,
    method: WireMethodName,
    parameters: Record<string, string>,
  ): Promise<GateVerdict> {
    return this.find(stage, method, parameters)?.hold(parameters) ?? 'pass';
  }

  awaits(stage: GateStage, method: WireMethodName, parameters: Record<string, string>): boolean {
    return this.find(stage, method, parameters) !== undefined;
  }

  /** Resolves with the held request's parameters; null if the gate does not exist. */
  findReached(id: number): Promise<Record<string, string>> | null {
    return this.gates.get(id)?.reached ?? null;
  }

  open(id: number, verdict: GateVerdict): boolean {
    this.gates.get(id)?.open(verdict);
    return this.gates.delete(id);
  }

  openAll(verdict: GateVerdict): void {
    for (const id of this.gates.keys()) this.open(id, verdict);
  }

  close(): void {
    this.isClosed = true;
    this.openAll('drop');
  }

  private find(
    stage: GateStage,
    method: WireMethodName,
    parameters: Record<string, string>,
  ): Gate | undefined {
    if (this.isClosed) return undefined;
    return [...this.gates.values()].find(
      ({ isTaken, spec }) => !isTaken && spec.stage === stage && appliesTo(spec, method, parameters),
    );
  }
}
