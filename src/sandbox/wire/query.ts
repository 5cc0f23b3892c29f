import { CATALOG, isVersion, type Version } from '../catalog/catalog';
import type { ProxyType } from '../state/state-event';
import { WireError, type WireErrorId } from './wire-error';

const MAX_DESCR_LENGTH = 50;

/** The last value of each parameter applies. */
export class Query {
  private readonly values: ReadonlyMap<string, string>;

  constructor(queryString: string) {
    this.values = new Map(new URLSearchParams(queryString));
  }

  has(name: string): boolean {
    return this.values.has(name);
  }

  /** @returns null if the parameter is missing or empty */
  find(name: string): string | null {
    return this.values.get(name) || null;
  }

  toObject(): Record<string, string> {
    return Object.fromEntries(this.values);
  }

  findNumber(name: string): number | null {
    const value = this.find(name);
    return value !== null && /^\d{1,9}$/.test(value) ? Number(value) : null;
  }

  getCount(): number {
    return this.getPositive('count', 200);
  }

  getPeriodDays(): number {
    return this.getPositive('period', 210);
  }

  getVersion(): Version {
    const version = this.find('version') ?? '6';
    if (!isVersion(version)) throw new WireError(240);
    return version;
  }

  getCountry(): string {
    const country = this.find('country');
    if (country === null || !CATALOG.knows(country)) throw new WireError(220);
    return country;
  }

  findType(): ProxyType | undefined {
    const type = this.find('type');
    if (type === null) return undefined;
    if (type !== 'http' && type !== 'socks') throw new WireError(260);
    return type;
  }

  findDescr(name: string): string | null {
    const descr = this.find(name);
    if (descr !== null && Array.from(descr).length > MAX_DESCR_LENGTH) throw new WireError(250);
    return descr;
  }

  /** Returns distinct ids in their original order. */
  findIds(): number[] | null {
    const ids = this.find('ids');
    if (ids === null) return null;
    const parts = ids.split(',');
    if (!parts.every((part) => /^\d{1,15}$/.test(part))) throw new WireError(230);
    return [...new Set(parts.map(Number))];
  }

  getIds(): number[] {
    const ids = this.findIds();
    if (ids === null) throw new WireError(230);
    return ids;
  }

  private getPositive(name: string, errorId: WireErrorId): number {
    const value = this.findNumber(name);
    if (value === null || value === 0) throw new WireError(errorId);
    return value;
  }
}
