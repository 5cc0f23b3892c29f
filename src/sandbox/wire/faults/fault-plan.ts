import { seededRandom } from '../../catalog/seeded-random';
import type { WireMethodName } from '../methods/wire-methods';
import { appliesTo, type Fault, readFault } from './fault';

interface PlannedFault {
  fault: Fault;
  random: () => number;
  hits: number;
}

/** Applies the first matching fault to each request, in the order in which the faults were added. */
export class FaultPlan {
  private planned: PlannedFault[] = [];
  private lastId = 0;

  /** @throws ZodError */
  add(spec: unknown): Fault {
    const fault = readFault(this.lastId + 1, spec);
    this.lastId += 1;
    this.planned.push({ fault, random: seededRandom(fault.seed), hits: 0 });
    return fault;
  }

  take(method: WireMethodName, parameters: Record<string, string>): Fault | null {
    for (const planned of this.planned) {
      const { fault, random } = planned;
      const isSpent = fault.times !== null && planned.hits >= fault.times;
      if (isSpent || !appliesTo(fault, method, parameters) || random() >= fault.probability) continue;
      planned.hits += 1;
      return fault;
    }
    return null;
  }

  list(): Array<Fault & { hits: number }> {
    return this.planned.map(({ fault, hits }) => ({ ...fault, hits }));
  }

  cancel(id: number): boolean {
    const before = this.planned.length;
    this.planned = this.planned.filter(({ fault }) => fault.id !== id);
    return this.planned.length < before;
  }

  clear(): void {
    this.planned = [];
  }
}
