import { seededRandom } from '../../catalog/seeded-random';
import type { WireMethodName } from '../methods/wire-methods';
import { completeFault, type Fault, type FaultSpec } from './fault';
import { appliesTo } from './request-filter';

interface PlannedFault {
  fault: Fault;
  random: () => number;
  hits: number;
}

/** Faults that were added, followed by those of the profile. The first that applies to a request hits it. */
export class FaultPlan {
  private added: PlannedFault[] = [];
  private profileFaults: PlannedFault[];
  private lastId = 0;

  /** @param profileFaults the faults of the profile */
  constructor(profileFaults: readonly FaultSpec[] = []) {
    this.profileFaults = profileFaults.map((spec) => this.plan(spec));
  }

  add(spec: FaultSpec): Fault {
    const planned = this.plan(spec);
    this.added.push(planned);
    return planned.fault;
  }

  /** Replaces the faults of the profile. Added faults stay. */
  replaceProfileFaults(profileFaults: readonly FaultSpec[]): void {
    this.profileFaults = profileFaults.map((spec) => this.plan(spec));
  }

  take(method: WireMethodName, parameters: Record<string, string>): Fault | null {
    for (const planned of [...this.added, ...this.profileFaults]) {
      const { fault, random } = planned;
      const isSpent = fault.times !== null && planned.hits >= fault.times;
      if (isSpent || !appliesTo(fault, method, parameters) || random() >= fault.probability) continue;
      planned.hits += 1;
      return fault;
    }
    return null;
  }

  list(): Array<Fault & { hits: number }> {
    return [...this.added, ...this.profileFaults].map(({ fault, hits }) => ({ ...fault, hits }));
  }

  cancel(id: number): boolean {
    const before = this.list().length;
    this.added = this.added.filter(({ fault }) => fault.id !== id);
    this.profileFaults = this.profileFaults.filter(({ fault }) => fault.id !== id);
    return this.list().length < before;
  }

  clear(): void {
    this.added = [];
    this.profileFaults = [];
  }

  private plan(spec: FaultSpec): PlannedFault {
    this.lastId += 1;
    const fault = completeFault(this.lastId, spec);
    return { fault, random: seededRandom(fault.seed), hits: 0 };
  }
}
