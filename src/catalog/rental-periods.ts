import type { IpVersion } from '../common';
import { PeriodTooShort, UnsupportedPeriod } from './catalog.errors';

/** How customers read a version, and for how many days it is rented at least. */
const VERSIONS = {
  '6': { name: 'IPv6', minimumDays: 3 },
  '4': { name: 'IPv4', minimumDays: 7 },
  '4s': { name: 'IPv4 shared', minimumDays: 7 },
} as const satisfies Record<IpVersion, { name: string; minimumDays: number }>;

const LONGEST_PERIOD_DAYS = 3650;

/** `4s` also goes by the provider's own number of it, `3`. */
export const toIpVersion = (version: string): IpVersion => (version === '3' ? '4s' : (version as IpVersion));

/** @throws PeriodTooShort, UnsupportedPeriod */
export function checkPeriod(version: IpVersion, periodDays: number, kind: 'rental' | 'renewal'): void {
  const { name, minimumDays } = VERSIONS[version];
  if (periodDays < minimumDays) throw new PeriodTooShort(kind, name, minimumDays);
  if (periodDays > LONGEST_PERIOD_DAYS) throw new UnsupportedPeriod();
}
