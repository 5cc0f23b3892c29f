import { domainError } from '../common';

export class PeriodTooShort extends domainError(
  'bad-request',
  (kind: 'rental' | 'renewal', versionName: string, minimumDays: number) =>
    `Minimum ${kind} period for ${versionName} is ${minimumDays} days`,
) {}

export class UnsupportedPeriod extends domainError('bad-request', 'Unsupported rental period') {}

export class CountryNotAvailable extends domainError('bad-request', 'Country not available') {}

export class NotEnoughProxies extends domainError('bad-request', 'Not enough proxies available') {}

export class PricesUnknown extends domainError(
  'unavailable',
  "The provider's prices are not known yet: request a price first",
) {}
