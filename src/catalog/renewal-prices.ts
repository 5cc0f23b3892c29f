import { DomainError, type IpVersion } from '../common';
import type { CatalogService, Quote } from './catalog.service';
import { checkPeriod } from './rental-periods';

/** What is renewed, for whom and for how long. */
export interface RenewalOffer {
  readonly userId: number;
  readonly country: string;
  readonly version: IpVersion;
  /** Days. */
  readonly period: number;
}

/** What renewing is charged now, for many proxies: each price is looked up once. */
export class RenewalPrices {
  private readonly quotes = new Map<string, Promise<Quote | DomainError>>();

  constructor(private readonly catalog: CatalogService) {}

  /** @returns the price of one proxy, or why nobody can order it */
  of(offer: RenewalOffer): Promise<Quote | DomainError> {
    const key = [offer.userId, offer.country, offer.version, offer.period].join(' ');
    const quote = this.quotes.get(key) ?? this.lookUp(offer);
    this.quotes.set(key, quote);
    return quote;
  }

  private async lookUp({ userId, country, version, period }: RenewalOffer): Promise<Quote | DomainError> {
    try {
      checkPeriod(version, period, 'renewal');
      return await this.catalog.chargedPrice({ version, period, count: 1 }, { userId, country });
    } catch (error) {
      if (error instanceof DomainError) return error;
      throw error;
    }
  }
}
