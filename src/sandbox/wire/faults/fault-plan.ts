import { seededRandom } from '../../catalog/seeded-random';
import type { WireMethodName } from '../methods/wire-methods';
import { appliesTo, completeFault, type Fault, type FaultSpec } from './fault';

interface PlannedFault {
  fault: Fault;
  random: () => number;
  hits: number;
}

/** The faults in the order in which they were added. The first that applies to a request hits it. */
export class FaultPlan {
  private planned: PlannedFault[] = [];
  private lastId = 0;

  add(spec: FaultSpec): Fault {
    this.lastId += 1;
    const fault = completeFault(this.lastId, spec);
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
