import { Injectable } from '@nestjs/common';
import { CatalogService, checkPeriod, type Quote, ServiceUnavailable } from '../../catalog';
import { DomainError } from '../../common';
import type { RenewalOffer } from '../../orders';
import type { ProxyObstacle } from '../decide';

/** What an order of an offer is charged now, or why nobody can order it. */
export interface PriceBook {
  quote(offer: RenewalOffer): Promise<Quote | ProxyObstacle>;
}

/** The prices by which renewals are decided and ordered: those that any order is charged. */
@Injectable()
export class RenewalPrices {
  constructor(private readonly catalog: CatalogService) {}

  /** A book that asks once for each price. */
  open(): PriceBook {
    const known = new Map<string, Promise<Quote | ProxyObstacle>>();
    return {
      quote: (offer) => {
        const key = [offer.userId, offer.country, offer.version, offer.period].join(' ');
        const quote = known.get(key) ?? this.ask(offer);
        known.set(key, quote);
        return quote;
      },
    };
  }

  private async ask({ userId, country, version, period }: RenewalOffer): Promise<Quote | ProxyObstacle> {
    try {
      checkPeriod(version, period, 'renewal');
      return await this.catalog.chargedPrice({ version, period, count: 1 }, { userId, country });
    } catch (error) {
      if (!(error instanceof DomainError)) throw error;
      return error instanceof ServiceUnavailable ? 'no-price' : 'period-not-sold';
    }
  }
}
