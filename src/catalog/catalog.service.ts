import { Inject, Injectable } from '@nestjs/common';
import { Clock, Money, unitPriceWithMarkup } from '../common';
import { AppConfig } from '../config';
import { type IpVersion, ProviderError, ProviderRefused, UpstreamProvider } from '../provider';
import {
  CountryNotAvailable,
  NotEnoughProxies,
  ServiceUnavailable,
  UnsupportedPeriod,
} from './catalog.errors';
import { LocalCopy } from './local-copy';
import { checkPeriod } from './rental-periods';

export interface Quote {
  /** What one proxy costs the customer. The whole is exactly `count` times this. */
  readonly unitPrice: Money;
  readonly total: Money;
  /** What the provider asks for all of them, roubles, a decimal string. */
  readonly providerPrice: string;
}

export interface Offer {
  readonly version: IpVersion;
  /** Days. */
  readonly period: number;
  readonly count: number;
}

const UNSUPPORTED = 'unsupported';
const KEPT = { freshMs: 60_000, keepMs: 24 * 3_600_000 } as const;

/**
 * Countries, stock and prices, from a local copy of the upstream's catalogue: a minute old at most while the upstream answers, the
 * last known for up to a day while it does not.
 */
@Injectable()
export class CatalogService {
  private readonly countryLists: LocalCopy<readonly string[]>;
  private readonly stocks: LocalCopy<number>;
  private readonly prices: LocalCopy<string>;

  constructor(
    @Inject(UpstreamProvider) private readonly provider: UpstreamProvider,
    @Inject(AppConfig) private readonly config: AppConfig,
    @Inject(Clock) clock: Clock,
  ) {
    this.countryLists = new LocalCopy(clock, { ...KEPT, maxEntries: 10 });
    this.stocks = new LocalCopy(clock, { ...KEPT, maxEntries: 1000 });
    this.prices = new LocalCopy(clock, { ...KEPT, maxEntries: 10_000 });
  }

  /** Codes in lower case, sorted. @throws ServiceUnavailable */
  countries(version: IpVersion): Promise<readonly string[]> {
    return this.orUnavailable(
      this.countryLists.get(version, async () => [...new Set(await this.provider.countries(version))].sort()),
    );
  }

  /** 0 for a country that is not on sale. @throws ServiceUnavailable */
  async stock(country: string, version: IpVersion): Promise<number> {
    const code = country.toLowerCase();
    if (!(await this.countries(version)).includes(code)) return 0;
    return this.orUnavailable(
      this.stocks.get(`${version}/${code}`, () => this.provider.stock(code, version)),
    );
  }

  /** @throws CountryNotAvailable, NotEnoughProxies, ServiceUnavailable */
  async checkStock(country: string, version: IpVersion, count: number): Promise<void> {
    if (!(await this.countries(version)).includes(country)) throw new CountryNotAvailable();
    if ((await this.stock(country, version)) < count) throw new NotEnoughProxies();
  }

  /** Takes from the local copy what was just sold, so that the next customer sees it at once. */
  noteSale(country: string, version: IpVersion, count: number): void {
    this.stocks.adjust(`${version}/${country}`, (stock) => Math.max(0, stock - count));
  }

  /**
   * The price of an offer as customers see it.
   *
   * @throws PeriodTooShort, UnsupportedPeriod, ServiceUnavailable
   */
  quote(offer: Offer): Promise<Quote> {
    checkPeriod(offer.version, offer.period, 'rental');
    return this.priced(offer, (key, fetch) => this.prices.get(key, fetch));
  }

  /**
   * The price that an order is charged: never older than a minute. The period's bounds are the caller's to check.
   *
   * @throws UnsupportedPeriod, ServiceUnavailable
   */
  chargedPrice(offer: Offer): Promise<Quote> {
    return this.priced(offer, (key, fetch) => this.prices.getFresh(key, fetch));
  }

  private async priced(
    offer: Offer,
    lookUp: (key: string, fetch: () => Promise<string>) => Promise<string>,
  ): Promise<Quote> {
    const providerPrice = await this.orUnavailable(
      lookUp(`${offer.version}/${offer.period}/${offer.count}`, () => this.fetchPrice(offer)),
    );
    if (providerPrice === UNSUPPORTED) throw new UnsupportedPeriod();
    const unitPrice = unitPriceWithMarkup(providerPrice, offer.count, this.config.markupPercent);
    if (!unitPrice.isPositive()) throw new UnsupportedPeriod();
    return { unitPrice, total: unitPrice.times(offer.count), providerPrice };
  }

  /** That the provider does not sell a period is worth remembering as well. */
  private async fetchPrice(offer: Offer): Promise<string> {
    try {
      return await this.provider.totalPrice(offer);
    } catch (error) {
      if (error instanceof ProviderRefused && error.reason === 'period') return UNSUPPORTED;
      throw error;
    }
  }

  private async orUnavailable<Value>(value: Promise<Value>): Promise<Value> {
    try {
      return await value;
    } catch (error) {
      if (error instanceof ProviderError) throw new ServiceUnavailable();
      throw error;
    }
  }
}
