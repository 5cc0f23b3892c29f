import { DomainError, type IpVersion } from '../common';
import type { CatalogService, Quote } from './catalog.service';
import { assertPeriodSold } from './rental-periods';

export interface RenewalOffer {
  readonly userId: number;
  readonly country: string;
  readonly version: IpVersion;
  /** In days. */
  readonly period: number;
}

/** Finds the prices of many renewals, looking up each price only once. */
export class RenewalPrices {
  private readonly quotes = new Map<string, Promise<Quote | DomainError>>();

  constructor(private readonly catalog: CatalogService) {}

  /** @returns the price of one proxy, or the reason why it cannot be ordered */
  of(offer: RenewalOffer): Promise<Quote | DomainError> {
    const key = [offer.userId, offer.country, offer.version, offer.period].join(' ');
    const quote = this.quotes.get(key) ?? this.lookUp(offer);
    this.quotes.set(key, quote);
    return quote;
  }

  private async lookUp({ userId, country, version, period }: RenewalOffer): Promise<Quote | DomainError> {
    try {
      assertPeriodSold(version, period, 'renewal');
      return await this.catalog.chargedPrice({ version, period, count: 1 }, { userId, country });
    } catch (error) {
      if (error instanceof DomainError) return error;
      throw error;
    }
  }
}
