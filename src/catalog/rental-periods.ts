import type { IpVersion } from '../common';
import { PeriodTooShort, UnsupportedPeriod } from './catalog.errors';

const VERSIONS = {
  '6': { name: 'IPv6', minimumDays: 3 },
  '4': { name: 'IPv4', minimumDays: 7 },
  '4s': { name: 'IPv4 shared', minimumDays: 7 },
} as const satisfies Record<IpVersion, { name: string; minimumDays: number }>;

const LONGEST_PERIOD_DAYS = 3650;

export const PERIODS_TEXT =
  'Days: at least 3 for version `6`, at least 7 for `4` and `4s`, at most 3650, and a period ' +
  'that the provider sells, usually 3, 7, 14, 30, 60, 90, 180 and 365. Quotes and orders ' +
  'refuse other periods with 400.';

/** `3` is the provider's name for `4s`. */
export const toIpVersion = (version: string): IpVersion => (version === '3' ? '4s' : (version as IpVersion));

/** @throws PeriodTooShort, UnsupportedPeriod */
export function assertPeriodSold(version: IpVersion, periodDays: number, kind: 'rental' | 'renewal'): void {
  const { name, minimumDays } = VERSIONS[version];
  if (periodDays < minimumDays) throw new PeriodTooShort(kind, name, minimumDays);
  if (periodDays > LONGEST_PERIOD_DAYS) throw new UnsupportedPeriod();
}
