import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { Clock, type IpVersion, Money, multiplyDecimal, stackOf, unitPriceWithMarkup } from '../common';
import { CurrentMarkups, type Markup } from '../pricing';
import {
  type CallPriority,
  ProviderClosed,
  ProviderError,
  ProviderRefused,
  ProxyProvider,
} from '../provider';
import {
  CountryNotAvailable,
  NotEnoughProxies,
  ServiceUnavailable,
  UnsupportedPeriod,
} from './catalog.errors';
import { LocalCopy } from './local-copy';
import { checkPeriod } from './rental-periods';
import { SharedCopies } from './shared-copies';

export interface Quote {
  /** What one proxy costs the customer. The whole is exactly `count` times this. */
  readonly unitPrice: Money;
  readonly total: Money;
  /** What the provider asks for all of them, roubles, a decimal string. */
  readonly providerPrice: string;
  readonly markup: Markup;
}

export interface Offer {
  readonly version: IpVersion;
  /** Days. */
  readonly period: number;
  readonly count: number;
}

/** Who buys. A quote names no country. */
export interface Buyer {
  readonly userId: number;
  /** In lower case. */
  readonly country: string | null;
}

/** How old what this process answers from is; null: there is nothing of the kind. */
export type CatalogAges = Readonly<
  Record<'countries' | 'stock' | 'prices', ReturnType<LocalCopy<unknown>['ages']>>
>;

/** What one proxy costs, as JSON keeps it: by version and days. */
export type Prices = Readonly<Partial<Record<IpVersion, Readonly<Record<string, string>>>>>;

export const PRICES = 'prices';
const UNSUPPORTED = 'unsupported';
/** Of prices that are in no table: anyone can ask for another one. */
const MAX_EXACT_PRICES = 1000;
const MAX_UNIT_PRICES = 1000;
/** No order can be charged without the table when it is a minute old. From this age on it goes in the orders' line. */
const TABLE_NEEDED_MS = 50_000;

/**
 * Countries, stock and prices, from a copy of the provider's catalog that the replicas share: in this process's memory, which
 * follows the database. A minute old at most while the provider answers, the last known for up to a day while it does not.
 */
@Injectable()
export class CatalogService implements OnModuleDestroy {
  private readonly logger = new Logger(CatalogService.name);
  private readonly countryLists: LocalCopy<readonly string[]>;
  private readonly stocks: LocalCopy<number>;
  private readonly tables: LocalCopy<Prices>;
  private readonly exactPrices: LocalCopy<string>;
  /** By all that they are computed from, which takes ten times as long. */
  private readonly unitPrices = new LRUCache<string, Money>({ max: MAX_UNIT_PRICES });
  private readonly unwrittenSales = new Map<string, number>();
  private writing = Promise.resolve();
  private followedTo = 0;
  private isStopping = false;

  constructor(
    private readonly provider: ProxyProvider,
    private readonly shared: SharedCopies,
    private readonly markups: CurrentMarkups,
    clock: Clock,
  ) {
    this.countryLists = new LocalCopy(clock, shared, 10);
    this.stocks = new LocalCopy(clock, shared, 1000);
    this.tables = new LocalCopy(clock, shared, 1);
    this.exactPrices = new LocalCopy(clock, shared, MAX_EXACT_PRICES);
  }

  onModuleDestroy(): void {
    this.isStopping = true;
  }

  /** Codes in lower case, sorted. @throws ServiceUnavailable */
  countries(version: IpVersion): Promise<readonly string[]> {
    return this.countriesFor('rest', version);
  }

  /** 0 for a country that is not on sale. @throws ServiceUnavailable */
  stock(country: string, version: IpVersion): Promise<number> {
    return this.stockFor('rest', country.toLowerCase(), version);
  }

  /** What {@link countries} says, when that is in memory and fresh. */
  recallCountries(version: IpVersion): readonly string[] | undefined {
    return this.countryLists.recall(countriesKey(version));
  }

  /** What {@link stock} says, when that is in memory and fresh. */
  recallStock(country: string, version: IpVersion): number | undefined {
    const code = country.toLowerCase();
    const countries = this.recallCountries(version);
    if (!countries) return undefined;
    if (!countries.includes(code)) return 0;
    const key = stockKey(code, version);
    const stock = this.stocks.recall(key);
    return stock === undefined ? undefined : this.withoutUnwritten(key, stock);
  }

  /** What {@link quote} says, when there is one, and what it is made of is in memory and fresh. */
  recallQuote(offer: Offer, userId: number): Quote | undefined {
    const table = this.tables.recall(PRICES);
    const providerPrice =
      table && (tablePrice(table, offer) ?? this.exactPrices.recall(exactPriceKey(offer)));
    if (providerPrice === undefined || providerPrice === UNSUPPORTED) return undefined;
    return this.withMarkup(providerPrice, offer, { userId, country: null });
  }

  /** @throws CountryNotAvailable, NotEnoughProxies, ServiceUnavailable */
  async checkStock(country: string, version: IpVersion, count: number): Promise<void> {
    if (!(await this.countriesFor('order', version)).includes(country)) throw new CountryNotAvailable();
    if ((await this.stockFor('order', country, version)) < count) throw new NotEnoughProxies();
  }

  /**
   * Takes from the copy what was just sold: the next customer of this process sees it at once, those of other replicas when it is
   * written and they have read it. Never rejects.
   */
  noteSale(country: string, version: IpVersion, count: number): Promise<void> {
    const key = stockKey(country, version);
    this.unwrittenSales.set(key, (this.unwrittenSales.get(key) ?? 0) + count);
    // One at a time: what is sold while one is being written is the next one's.
    this.writing = this.writing.then(() => this.writeSales());
    return this.writing;
  }

  /**
   * The price of an offer as a customer sees it. No country charges more.
   *
   * @throws PeriodTooShort, UnsupportedPeriod, ServiceUnavailable
   */
  quote(offer: Offer, userId: number): Promise<Quote> {
    checkPeriod(offer.version, offer.period, 'rental');
    return this.priced(offer, { userId, country: null }, 'get');
  }

  /**
   * The price that an order is charged: what the quote says, or less in a country that is cheaper; never older than a minute. The
   * period's bounds are the caller's to check.
   *
   * @throws UnsupportedPeriod, ServiceUnavailable
   */
  chargedPrice(offer: Offer, buyer: Buyer): Promise<Quote> {
    return this.priced(offer, buyer, 'getFresh');
  }

  ages(): CatalogAges {
    return { countries: this.countryLists.ages(), stock: this.stocks.ages(), prices: this.tables.ages() };
  }

  /** Takes over what other replicas have fetched and sold. */
  async followOthers(): Promise<void> {
    const copies = new Map<string | undefined, Pick<LocalCopy<unknown>, 'apply'>>([
      ['countries', this.countryLists],
      ['stock', this.stocks],
      [PRICES, this.tables],
      ['price', this.exactPrices],
    ]);
    for (const stored of await this.shared.changedSince(this.followedTo)) {
      copies.get(stored.key.split('/')[0])?.apply(stored);
      this.followedTo = Math.max(this.followedTo, stored.changedAt);
    }
  }

  /** Begins to refresh what customers of this process ask for, before it is too old: a few at once, for each waits for its permit. */
  refreshDue(): void {
    this.refreshSome([this.tables], 1);
    this.refreshSome([this.exactPrices], 1);
    this.refreshSome([this.countryLists, this.stocks], 2);
  }

  /** Bounds what the database keeps. */
  forgetOldPrices(): Promise<void> {
    return this.shared.keepYoungest('price', MAX_EXACT_PRICES);
  }

  private countriesFor(asker: CallPriority, version: IpVersion): Promise<readonly string[]> {
    return orUnavailable(
      this.countryLists.get(countriesKey(version), async (ageMs) =>
        [...new Set(await this.provider.countries(version, { priority: priorityOf(asker, ageMs) }))].sort(),
      ),
    );
  }

  private async stockFor(asker: CallPriority, code: string, version: IpVersion): Promise<number> {
    if (!(await this.countriesFor(asker, version)).includes(code)) return 0;
    const key = stockKey(code, version);
    const stock = await orUnavailable(
      this.stocks.get(key, (ageMs) =>
        this.provider.stock(code, version, { priority: priorityOf(asker, ageMs) }),
      ),
    );
    return this.withoutUnwritten(key, stock);
  }

  private withoutUnwritten(key: string, stock: number): number {
    return Math.max(0, stock - (this.unwrittenSales.get(key) ?? 0));
  }

  private refreshSome(
    copies: readonly Pick<LocalCopy<unknown>, 'refreshing' | 'nextDue'>[],
    atOnce: number,
  ): void {
    const underWay = copies.reduce((sum, { refreshing }) => sum + refreshing, 0);
    for (let begun = underWay; begun < atOnce; begun += 1) {
      const [next] = copies
        .flatMap((copy) => copy.nextDue() ?? [])
        .sort((one, other) => other.wantedAtMs - one.wantedAtMs);
      next?.refresh().catch((error: unknown) => {
        // The provider's failures are told by its circuit breakers.
        if (error instanceof ProviderError || this.isStopping) return;
        this.logger.error(`${next.key}: could not be refreshed`, stackOf(error));
      });
    }
  }

  private async writeSales(): Promise<void> {
    const sales = [...this.unwrittenSales];
    for (const [key, count] of sales) {
      try {
        const stored = await this.shared.subtract(key, count);
        if (stored) this.stocks.apply(stored);
      } catch (error) {
        this.logger.error(`${key}: a sale could not be noted`, stackOf(error));
      }
      const since = (this.unwrittenSales.get(key) ?? 0) - count;
      if (since > 0) this.unwrittenSales.set(key, since);
      else this.unwrittenSales.delete(key);
    }
  }

  private async priced(offer: Offer, buyer: Buyer, lookUp: 'get' | 'getFresh'): Promise<Quote> {
    const providerPrice = await orUnavailable(this.providerPrice(offer, lookUp));
    if (providerPrice === UNSUPPORTED) throw new UnsupportedPeriod();
    return this.withMarkup(providerPrice, offer, buyer);
  }

  private withMarkup(providerPrice: string, offer: Offer, buyer: Buyer): Quote {
    const markup = this.markups.of({ ...buyer, version: offer.version, period: offer.period });
    const unitPrice = this.unitPrice(providerPrice, offer.count, markup.percent);
    if (!unitPrice.isPositive()) throw new UnsupportedPeriod();
    return { unitPrice, total: unitPrice.times(offer.count), providerPrice, markup };
  }

  private unitPrice(providerPrice: string, count: number, percent: string): Money {
    const key = `${providerPrice} ${count} ${percent}`;
    const known = this.unitPrices.get(key);
    if (known) return known;
    const unitPrice = unitPriceWithMarkup(providerPrice, count, percent);
    this.unitPrices.set(key, unitPrice);
    return unitPrice;
  }

  private async providerPrice(offer: Offer, lookUp: 'get' | 'getFresh'): Promise<string> {
    const table = await this.tables[lookUp](PRICES, (ageMs) =>
      this.fetchTable(ageMs < TABLE_NEEDED_MS ? 'price' : 'order'),
    );
    return (
      tablePrice(table, offer) ??
      this.exactPrices[lookUp](exactPriceKey(offer), () => this.fetchExactPrice(offer))
    );
  }

  private async fetchTable(priority: CallPriority): Promise<Prices> {
    const table = await this.provider.priceTable({ priority });
    return Object.fromEntries([...table].map(([version, prices]) => [version, Object.fromEntries(prices)]));
  }

  /**
   * That the provider does not sell a period is worth remembering as well. Anyone can name thousands of periods: they wait behind all
   * orders, even when it is an order that names one.
   */
  private async fetchExactPrice(offer: Offer): Promise<string> {
    try {
      return await this.provider.totalPrice(offer, { priority: 'price' });
    } catch (error) {
      if (error instanceof ProviderRefused && error.reason === 'period') return UNSUPPORTED;
      throw error;
    }
  }
}

/** Only what is not known at all keeps an order waiting: that goes in the orders' line. */
const priorityOf = (asker: CallPriority, ageMs: number): CallPriority =>
  ageMs === Infinity ? asker : 'rest';

export const countriesKey = (version: IpVersion): string => `countries/${version}`;

const exactPriceKey = ({ version, period, count }: Offer): string => `price/${version}/${period}/${count}`;

/** Of all of them; undefined when it is in no table. */
function tablePrice(table: Prices, { version, period, count }: Offer): string | undefined {
  const single = table[version]?.[period];
  return single === undefined ? undefined : multiplyDecimal(single, count);
}

const stockKey = (code: string, version: IpVersion): string => `stock/${version}/${code}`;

async function orUnavailable<Value>(value: Promise<Value>): Promise<Value> {
  try {
    return await value;
  } catch (error) {
    if (error instanceof ProviderClosed) throw new ServiceUnavailable(error);
    if (error instanceof ProviderError) throw new ServiceUnavailable();
    throw error;
  }
}
