import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Request } from 'express';
import { type IpVersion, MAX_ORDER_SIZE, PROXY_TYPES, type ProxyType } from '../common';
import { PRINTABLE } from '../http';
import { WireError, type WireErrorId } from './wire-error';
import { type WireVersion, VERSIONS } from './wire-formats';

const MAX_DESCR_LENGTH = 50;
const MAX_IDS = 1000;
const PRINTABLE_TEXT = new RegExp(PRINTABLE, 'u');
/** PostgreSQL cannot store these characters. */
const LONE_SURROGATE = /\p{Surrogate}/u;

/** The getters throw PROXY6's errors. If a parameter is repeated, its last value applies. */
export class WireQuery {
  constructor(private readonly values: Readonly<Record<string, string>>) {}

  has(name: string): boolean {
    return this.values[name] !== undefined;
  }

  /** @returns null if the parameter is missing or empty */
  find(name: string): string | null {
    return this.values[name] || null;
  }

  findNumber(name: string): number | null {
    const value = this.find(name);
    return value !== null && /^\d{1,9}$/.test(value) ? Number(value) : null;
  }

  getCount(): number {
    const count = this.getPositive('count', 200);
    if (count > MAX_ORDER_SIZE) throw new WireError(200);
    return count;
  }

  getPeriodDays(): number {
    return this.getPositive('period', 210);
  }

  getVersion(): IpVersion {
    const version = VERSIONS.get((this.find('version') ?? '6') as WireVersion);
    if (version === undefined) throw new WireError(240);
    return version;
  }

  getCountry(): string {
    const country = this.find('country');
    if (country === null || !/^[a-z]{2,4}$/.test(country)) throw new WireError(220);
    return country;
  }

  findType(): ProxyType | null {
    const type = this.find('type');
    const known = PROXY_TYPES.find((each) => each === type);
    if (type !== null && known === undefined) throw new WireError(260);
    return known ?? null;
  }

  findDescr(name = 'descr'): string | null {
    const descr = this.find(name);
    if (descr === null) return null;
    const isText = PRINTABLE_TEXT.test(descr) && !LONE_SURROGATE.test(descr);
    if (!isText || Array.from(descr).length > MAX_DESCR_LENGTH) throw new WireError(250);
    return descr;
  }

  /** Returns distinct ids in their original order. */
  findIds(most = MAX_IDS): string[] | null {
    const ids = this.find('ids');
    if (ids === null) return null;
    const parts = [...new Set(ids.split(','))];
    if (parts.length > most || !parts.every((part) => /^\d{1,15}$/.test(part))) throw new WireError(230);
    return parts;
  }

  getIds(most?: number): string[] {
    const ids = this.findIds(most);
    if (ids === null) throw new WireError(230);
    return ids;
  }

  private getPositive(name: string, errorId: WireErrorId): number {
    const value = this.findNumber(name);
    if (value === null || value === 0) throw new WireError(errorId);
    return value;
  }
}

export const WireParameters = createParamDecorator(
  (_: unknown, context: ExecutionContext) =>
    new WireQuery(context.switchToHttp().getRequest<Request>().query as Record<string, string>),
);
