import type { IpVersion } from '../common';
import { PeriodTooShort, UnsupportedPeriod } from './catalog.errors';

/** The name of each version in error texts, and its shortest rental period. */
const VERSIONS = {
  '6': { name: 'IPv6', minimumDays: 3 },
  '4': { name: 'IPv4', minimumDays: 7 },
  '4s': { name: 'IPv4 shared', minimumDays: 7 },
} as const satisfies Record<IpVersion, { name: string; minimumDays: number }>;

const LONGEST_PERIOD_DAYS = 3650;

/** Accepts the provider's own number of `4s`, which is `3`. */
export const toIpVersion = (version: string): IpVersion => (version === '3' ? '4s' : (version as IpVersion));

/** @throws PeriodTooShort, UnsupportedPeriod */
export function checkPeriod(version: IpVersion, periodDays: number, kind: 'rental' | 'renewal'): void {
  const { name, minimumDays } = VERSIONS[version];
  if (periodDays < minimumDays) throw new PeriodTooShort(kind, name, minimumDays);
  if (periodDays > LONGEST_PERIOD_DAYS) throw new UnsupportedPeriod();
}
