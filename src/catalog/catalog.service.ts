import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import {
  Clock,
  DomainError,
  FailureLog,
  ConcurrencyLimit,
  IP_VERSIONS,
  type IpVersion,
  type Moment,
  Money,
  multiplyDecimal,
  ServiceUnavailable,
  stackOf,
  TimeLimit,
  unitPriceWithMarkup,
} from '../common';
import { CurrentMarkups, type Markup } from '../pricing';
import {
  type CallPriority,
  ProviderClosed,
  ProviderError,
  ProviderRefused,
  ProviderUnavailable,
  ProxyProvider,
} from '../provider';
import { CatalogCache, type CatalogFetch, type RefreshInTurn } from './catalog-cache';
import {
  CatalogStore,
  countriesKey,
  exactPriceKey,
  PRICE_TABLE_KEY,
  type PriceTable,
  stockKey,
} from './catalog-store';
import { CountryNotAvailable, NotEnoughProxies, UnsupportedPeriod } from './catalog.errors';
import { assertPeriodSold } from './rental-periods';

export interface Quote {
  /** The total is exactly `count` times this price. */
  readonly unitPrice: Money;
  readonly total: Money;
  /** Provider's price in roubles for all proxies, as a decimal string. */
  readonly providerPrice: string;
  readonly markup: Markup;
}

interface Offer {
  readonly version: IpVersion;
  /** In days. */
  readonly period: number;
  readonly count: number;
}

export interface ListedPrice extends Pick<Offer, 'version' | 'period'> {
  readonly price: Money;
}

interface Buyer {
  readonly userId: number;
  /** In lower case; null for a quote. */
  readonly country: string | null;
}

/** Returns the customer's price for one proxy; `null` if unknown. */
export type PriceList = (
  offer: Pick<Offer, 'version' | 'period'> & {
    /** In lower case. */
    readonly country: string;
  },
) => Money | null;

/** How an order fetches a country's stock if it is not cached. */
export interface FirstRead {
  readonly priority: CallPriority;
  /** Queue that runs one fetch per user at a time. If undefined, the fetch starts without queueing. */
  readonly line?: 'unpaid' | 'unpriced';
}

/** How long a period is not offered after the provider has refused it. */
const REFUSED_MS = 10 * 60_000;
/** Quotes refuse a period once the provider has recently refused it in this many countries. */
const COUNTRIES_BEFORE_QUOTES = 3;
const offerKey = (version: IpVersion, period: number): string => `${version}/${period}`;

/** Stored instead of an exact price if the provider does not sell the period. */
const UNSUPPORTED = 'unsupported';
/** Maximum number of stored exact prices. Limited because customers can request any number of them. */
const MAX_EXACT_PRICES = 1000;
const LONGEST_TURN_WAIT_MS = 10_000;
/** Maximum number of waiting requests per user. At three provider calls a second, more would time out. */
const MOST_IN_LINE = 100;
/** Age at which a price table is fetched with an order's priority. Orders need one under a minute old. */
const TABLE_NEEDED_MS = 50_000;

/** Catalog values may be a minute old, or a day during an outage. Charged prices are at most a minute old. */
@Injectable()
export class CatalogService implements OnModuleDestroy {
  private readonly logger = new Logger(CatalogService.name);
  private readonly failures = new FailureLog(this.logger);
  private readonly countryLists: CatalogCache<readonly string[]>;
  private readonly stocks: CatalogCache<number>;
  private readonly priceTables: CatalogCache<PriceTable>;
  /** Prices of offers that the price table does not contain. */
  private readonly exactPrices: CatalogCache<string>;
  /** Limits concurrent refreshes, in total and per user, so that previews hardly delay orders. */
  private readonly turns = {
    order: new ConcurrencyLimit<number>(4, 2),
    preview: new ConcurrencyLimit<number>(2, 1),
    stock: new ConcurrencyLimit<number>(2, 1),
    unpaid: new ConcurrencyLimit<number>(2, 1),
    unpriced: new ConcurrencyLimit<number>(4, 1),
  };
  /** Proxies sold by this process but not yet subtracted in the store, by stock key. */
  private readonly unwrittenSales = new Map<string, number>();
  private writing: Promise<void> = Promise.resolve();
  /** Stock fetches in progress, by priority and key. */
  private readonly corrections = new Map<string, Promise<number>>();
  private followedUntil = 0;
  /** When the provider last refused to sell a period, by version and period, then by country. */
  private readonly refusedPeriods = new Map<string, Map<string, Moment>>();
  private isStopping = false;

  constructor(
    private readonly provider: ProxyProvider,
    private readonly store: CatalogStore,
    private readonly markups: CurrentMarkups,
    private readonly clock: Clock,
  ) {
    this.countryLists = new CatalogCache(clock, store, 10);
    this.stocks = new CatalogCache(clock, store, 1000);
    this.priceTables = new CatalogCache(clock, store, 1);
    this.exactPrices = new CatalogCache(clock, store, MAX_EXACT_PRICES);
  }

  async onModuleDestroy(): Promise<void> {
    this.isStopping = true;
    await this.writeSales();
  }

  /** Returns sorted codes in lower case. @throws ServiceUnavailable */
  countries(version: IpVersion, priority: CallPriority = 'rest'): Promise<readonly string[]> {
    return this.countryLists
      .get(countriesKey(version), {
        priorityAt: firstAt(priority),
        call: async (now) => [...new Set(await this.provider.countries(version, { priority: now }))].sort(),
      })
      .catch(throwUnavailable);
  }

  /** Returns 0 if the country (in lower case) is not on sale. @throws ServiceUnavailable */
  async stock(
    country: string,
    version: IpVersion,
    priority: CallPriority = 'rest',
    inTurn?: RefreshInTurn,
  ): Promise<number> {
    if (!(await this.countries(version, priority)).includes(country)) return 0;
    const key = stockKey(country, version);
    const call = (now: CallPriority) => this.provider.stock(country, version, { priority: now });
    const stock = await this.stocks
      .get(key, { call, priorityAt: firstAt(priority) }, inTurn)
      .catch(throwUnavailable);
    return Math.max(0, stock - (this.unwrittenSales.get(key) ?? 0));
  }

  /**
   * Returns an upper bound for the price in any country.
   * @throws PeriodTooShort, UnsupportedPeriod, ServiceUnavailable
   */
  async quote(offer: Offer, userId: number, closed?: AbortSignal): Promise<Quote> {
    this.assertRentalPeriod(offer.version, offer.period, null);
    return this.priceOf(offer, { userId, country: null }, 'get', this.inTurn('preview', userId, closed));
  }

  /** Lists only the periods in the provider's table; others may be on sale. @throws ServiceUnavailable */
  async prices(userId: number): Promise<ListedPrice[]> {
    const table = await this.priceTable('get').catch(throwUnavailable);
    return IP_VERSIONS.flatMap((version) =>
      Object.entries(table[version] ?? {}).flatMap(([days, single]): ListedPrice[] => {
        const period = Number(days);
        const { percent } = this.markups.of({ userId, country: null, version, period });
        const price = unitPriceWithMarkup(single, 1, percent);
        return price.isPositive() && this.isSold(version, period) ? [{ version, period, price }] : [];
      }),
    );
  }

  private isSold(version: IpVersion, period: number): boolean {
    try {
      this.assertRentalPeriod(version, period, null);
      return true;
    } catch (error) {
      if (error instanceof DomainError) return false;
      throw error;
    }
  }

  /**
   * Applies the same rule to quotes and purchases, so that everything that is quoted can be bought.
   * @param country in lower case; null for a quote
   * @throws PeriodTooShort, UnsupportedPeriod
   */
  assertRentalPeriod(version: IpVersion, period: number, country: string | null): void {
    assertPeriodSold(version, period, 'rental');
    const refusals = this.refusedPeriods.get(offerKey(version, period)) ?? new Map<string, Moment>();
    const isRecent = (refused?: Moment): boolean => refused !== undefined && refused.elapsedMs() < REFUSED_MS;
    const isRefused =
      country === null
        ? [...refusals.values()].filter(isRecent).length >= COUNTRIES_BEFORE_QUOTES
        : isRecent(refusals.get(country));
    if (isRefused) throw new UnsupportedPeriod();
  }

  recordPeriodRefused(version: IpVersion, period: number, country: string): void {
    const key = offerKey(version, period);
    const refusals = this.refusedPeriods.get(key) ?? new Map<string, Moment>();
    this.refusedPeriods.set(key, refusals.set(country, this.clock.moment()));
  }

  /**
   * @param firstRead called only if the stock is not cached
   * @throws CountryNotAvailable, NotEnoughProxies, ServiceUnavailable
   */
  async assertStock(
    { country, version, count }: Offer & { readonly country: string },
    userId: number,
    firstRead: () => Promise<FirstRead>,
  ): Promise<void> {
    const isKnown =
      this.countryLists.peek(countriesKey(version))?.includes(country) === false ||
      this.stocks.peek(stockKey(country, version)) !== undefined;
    const { priority, line }: FirstRead = isKnown ? { priority: 'order' } : await firstRead();
    if (!(await this.countries(version, priority)).includes(country)) throw new CountryNotAvailable();
    const inTurn = line && this.inTurn(line, userId);
    if ((await this.stock(country, version, priority, inTurn)) < count) throw new NotEnoughProxies();
  }

  /** Fetches the stock and corrects the cache. By default, yields only to orders. @throws ProviderError */
  readStock(country: string, version: IpVersion, priority: CallPriority = 'confirmation'): Promise<number> {
    const key = stockKey(country, version);
    const name = `${priority} ${key}`;
    const underWay = this.corrections.get(name);
    if (underWay) return underWay;
    const reading = this.correctStock(key, { country, version, priority }).finally(() =>
      this.corrections.delete(name),
    );
    this.corrections.set(name, reading);
    return reading;
  }

  /** Fetches the stock for an order that requires the current number. @throws ServiceUnavailable */
  async stockNow(country: string, version: IpVersion, userId: number): Promise<number> {
    const inTurn = this.inTurn('stock', userId);
    return inTurn(() => this.readStock(country, version, 'price')).catch(throwUnavailable);
  }

  /**
   * Returns the price to charge: the quote, or the country's own price if that is lower. The caller must
   * check that the period is within the allowed range.
   * @param use with `preview`, fewer refreshes run at a time, so that e.g. dry runs hardly delay orders
   * @throws UnsupportedPeriod, ServiceUnavailable
   */
  chargedPrice(offer: Offer, buyer: Buyer, use: 'order' | 'preview' = 'order'): Promise<Quote> {
    return this.priceOf(offer, buyer, 'getFresh', this.inTurn(use, buyer.userId));
  }

  /** Returns the last known price for an order, without calling the provider. */
  knownPrice(offer: Offer, buyer: Buyer): Quote | undefined {
    const { version, period, count } = offer;
    const single = this.priceTables.peek(PRICE_TABLE_KEY)?.[version]?.[period];
    const exact = this.exactPrices.peek(exactPriceKey(version, period, count));
    if (single !== undefined) return this.toQuote(multiplyDecimal(single, count), offer, buyer);
    return exact === undefined || exact === UNSUPPORTED ? undefined : this.toQuote(exact, offer, buyer);
  }

  /** Keeps the price of an ordered offer fresh for the next order. */
  recordPriceUsed(offer: Offer): void {
    const { version, period, count } = offer;
    this.exactPrices.want(exactPriceKey(version, period, count), this.fetchExactPrice(offer));
  }

  /** Returns a function that finds prices without fetching, fast enough for many offers. */
  async priceList(userId: number): Promise<PriceList> {
    const table = await this.priceTable('get').catch((error: unknown): PriceTable => {
      if (error instanceof ProviderError) return {};
      throw error;
    });
    const known = new Map<string, Money | null>();
    return (offer) => {
      const { country, version, period } = offer;
      const key = `${version}/${period}/${country}`;
      const earlier = known.get(key);
      if (earlier !== undefined) return earlier;
      const exactPrice = this.exactPrices.peek(exactPriceKey(version, period, 1));
      const single = table[version]?.[period] ?? (exactPrice === UNSUPPORTED ? undefined : exactPrice);
      const { percent } = this.markups.of({ userId, country, version, period });
      const price = single === undefined ? null : unitPriceWithMarkup(single, 1, percent);
      known.set(key, price);
      return price;
    };
  }

  /** Lowers the stock immediately in this process, and on other replicas after `writeSales`. */
  recordSale(country: string, version: IpVersion, count: number): void {
    const key = stockKey(country, version);
    this.unwrittenSales.set(key, (this.unwrittenSales.get(key) ?? 0) + count);
  }

  /** Subtracts the recorded sales in the shared store. Never rejects. */
  writeSales(): Promise<void> {
    // Serialize all writes, even the one at shutdown: concurrent writes would subtract the same sales twice.
    this.writing = this.writing.then(() => this.writeUnwrittenSales());
    return this.writing;
  }

  private async writeUnwrittenSales(): Promise<void> {
    // Sales recorded during this write are left for the next one.
    const sales = [...this.unwrittenSales];
    for (const [key, count] of sales) {
      try {
        const entry = await this.store.subtract(key, count);
        if (entry) this.stocks.apply(entry);
      } catch (error) {
        this.logger.error(`${key}: sales could not be written to the catalog store`, stackOf(error));
      }
      const soldMeanwhile = (this.unwrittenSales.get(key) ?? 0) - count;
      if (soldMeanwhile > 0) this.unwrittenSales.set(key, soldMeanwhile);
      else this.unwrittenSales.delete(key);
    }
  }

  /** Returns SQL that is true if there are sales to write or changes to apply. */
  isToFollow(): string {
    return this.unwrittenSales.size > 0 ? 'true' : this.store.mayHaveChangedSince(this.followedUntil);
  }

  /** Updates this replica's caches with what other replicas have fetched and sold. */
  async followStore(): Promise<void> {
    const caches = new Map<string | undefined, Pick<CatalogCache<unknown>, 'apply'>>([
      ['countries', this.countryLists],
      ['stock', this.stocks],
      [PRICE_TABLE_KEY, this.priceTables],
      ['price', this.exactPrices],
    ]);
    for (const entry of await this.store.changedSince(this.followedUntil)) {
      caches.get(entry.key.split('/')[0])?.apply(entry);
      this.followedUntil = Math.max(this.followedUntil, entry.changedAt);
    }
  }

  /** Runs only a few refreshes at a time, because each waits for a rate permit. */
  refreshDue(): void {
    this.refreshSome([this.priceTables], 1);
    this.refreshSome([this.exactPrices], 1);
    this.refreshSome([this.countryLists, this.stocks], 2);
  }

  /** Returns, by kind, the age of the oldest value that this process's customers recently requested. */
  agesMs(): Readonly<Record<string, number | undefined>> {
    return {
      countries: this.countryLists.oldestWantedMs(),
      stock: this.stocks.oldestWantedMs(),
      prices: this.priceTables.oldestWantedMs(),
      exact_prices: this.exactPrices.oldestWantedMs(),
    };
  }

  forgetOldPrices(): Promise<void> {
    return this.store.keepYoungest('price', MAX_EXACT_PRICES);
  }

  private async correctStock(
    key: string,
    { country, version, priority }: { country: string; version: IpVersion; priority: CallPriority },
  ): Promise<number> {
    const stock = await this.provider.stock(country, version, { priority });
    const entry = await this.store.correct(key, stock);
    if (entry) this.stocks.apply(entry);
    return stock;
  }

  private async priceOf(
    offer: Offer,
    buyer: Buyer,
    lookUp: 'get' | 'getFresh',
    inTurn: RefreshInTurn,
  ): Promise<Quote> {
    const providerPrice = await this.providerPrice(offer, lookUp, inTurn).catch(throwUnavailable);
    const quote = providerPrice === UNSUPPORTED ? undefined : this.toQuote(providerPrice, offer, buyer);
    if (!quote?.unitPrice.isPositive()) throw new UnsupportedPeriod();
    return quote;
  }

  private toQuote(providerPrice: string, { version, period, count }: Offer, buyer: Buyer): Quote {
    const markup = this.markups.of({ ...buyer, version, period });
    const unitPrice = unitPriceWithMarkup(providerPrice, count, markup.percent);
    return { unitPrice, total: unitPrice.times(count), providerPrice, markup };
  }

  /** Uses the price table if it contains the period; otherwise, looks up the exact price. */
  private async providerPrice(
    offer: Offer,
    lookUp: 'get' | 'getFresh',
    inTurn: RefreshInTurn,
  ): Promise<string> {
    const { version, period, count } = offer;
    const table = await this.priceTable(lookUp);
    const single = table[version]?.[period];
    if (single !== undefined) return multiplyDecimal(single, count);
    const key = exactPriceKey(version, period, count);
    return this.exactPrices[lookUp](key, this.fetchExactPrice(offer), inTurn);
  }

  private inTurn(use: keyof CatalogService['turns'], userId: number, closed?: AbortSignal): RefreshInTurn {
    const turns = this.turns[use];
    return async (refresh) => {
      if (turns.waitingOf(userId) >= MOST_IN_LINE) {
        throw new ProviderUnavailable("too many of the user's price requests are waiting");
      }
      const limit = new TimeLimit(LONGEST_TURN_WAIT_MS, closed);
      try {
        return await turns.run(userId, refresh, limit.signal);
      } catch (error) {
        if (error !== limit.signal.reason) throw error;
        throw new ProviderUnavailable('the price request waited too long for its turn');
      } finally {
        limit.release();
      }
    };
  }

  private priceTable(lookUp: 'get' | 'getFresh'): Promise<PriceTable> {
    return this.priceTables[lookUp](PRICE_TABLE_KEY, {
      priorityAt: (ageMs) => (ageMs < TABLE_NEEDED_MS ? 'price' : 'order'),
      call: (priority) => this.fetchTable(priority),
    });
  }

  private async fetchTable(priority: CallPriority): Promise<PriceTable> {
    const table = await this.provider.priceTable({ priority });
    return Object.fromEntries([...table].map(([version, prices]) => [version, Object.fromEntries(prices)]));
  }

  /** Fetches with low priority even for an order, because customers can request thousands of periods. */
  private fetchExactPrice(offer: Offer): CatalogFetch<string> {
    return {
      priorityAt: () => 'exact',
      call: (priority) =>
        this.provider.totalPrice(offer, { priority }).catch((error: unknown) => {
          if (error instanceof ProviderRefused && error.reason === 'period') return UNSUPPORTED;
          throw error;
        }),
    };
  }

  private refreshSome(
    caches: readonly Pick<CatalogCache<unknown>, 'refreshing' | 'nextDue'>[],
    maxAtOnce: number,
  ): void {
    const underWay = caches.reduce((sum, { refreshing }) => sum + refreshing, 0);
    for (let started = underWay; started < maxAtOnce; started += 1) {
      const [next] = caches
        .flatMap((cache) => cache.nextDue() ?? [])
        .sort((one, other) => other.wantedAtMs - one.wantedAtMs);
      next?.refresh().then(
        () => this.failures.succeeded(next.key),
        (error: unknown) => {
          // The circuit breakers already log the provider's failures.
          if (error instanceof ProviderError || this.isStopping) return;
          this.failures.failed(next.key, 'the refresh failed', error);
        },
      );
    }
  }
}

/** Uses `priority` only if no value is cached, because otherwise no order waits for the fetch. */
const firstAt =
  (priority: CallPriority) =>
  (ageMs: number): CallPriority =>
    ageMs === Infinity ? priority : 'rest';

/** Hides the provider's error from customers, except for the time after which to retry. */
function throwUnavailable(error: unknown): never {
  if (error instanceof ProviderClosed) throw new ServiceUnavailable(error);
  if (error instanceof ProviderError) throw new ServiceUnavailable();
  throw error;
}
