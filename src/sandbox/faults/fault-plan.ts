import { seededRandom } from '../catalog/seeded-random';
import type { WireMethodName } from '../wire/wire-methods';
import { completeFault, type Fault, type FaultOrder } from './fault';
import { appliesTo } from './request-filter';

interface PlannedFault {
  fault: Fault;
  random: () => number;
  hits: number;
}

/** The faults that are ordered, and after them the profile's. A request is hit by the first that applies to it. */
export class FaultPlan {
  private ordered: PlannedFault[] = [];
  private usual: PlannedFault[];
  private lastId = 0;

  /** @param usual the profile's */
  constructor(usual: readonly FaultOrder[] = []) {
    this.usual = usual.map((order) => this.plan(order));
  }

  order(order: FaultOrder): Fault {
    const planned = this.plan(order);
    this.ordered.push(planned);
    return planned.fault;
  }

  /** Those of another profile, instead. What was ordered stays. */
  replaceUsual(usual: readonly FaultOrder[]): void {
    this.usual = usual.map((order) => this.plan(order));
  }

  take(method: WireMethodName, parameters: Record<string, string>): Fault | null {
    for (const planned of [...this.ordered, ...this.usual]) {
      const { fault, random } = planned;
      const isSpent = fault.times !== null && planned.hits >= fault.times;
      if (isSpent || !appliesTo(fault, method, parameters) || random() >= fault.probability) continue;
      planned.hits += 1;
      return fault;
    }
    return null;
  }

  list(): Array<Fault & { hits: number }> {
    return [...this.ordered, ...this.usual].map(({ fault, hits }) => ({ ...fault, hits }));
  }

  cancel(id: number): boolean {
    const before = this.list().length;
    this.ordered = this.ordered.filter(({ fault }) => fault.id !== id);
    this.usual = this.usual.filter(({ fault }) => fault.id !== id);
    return this.list().length < before;
  }

  clear(): void {
    this.ordered = [];
    this.usual = [];
  }

  private plan(order: FaultOrder): PlannedFault {
    this.lastId += 1;
    const fault = completeFault(this.lastId, order);
    return { fault, random: seededRandom(fault.seed), hits: 0 };
  }
}
