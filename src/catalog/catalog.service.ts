import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import {
  Clock,
  FairTurns,
  type IpVersion,
  type Moment,
  Money,
  multiplyDecimal,
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
import { CatalogCache, type InTurn } from './catalog-cache';
import {
  CatalogStore,
  countriesKey,
  exactPriceKey,
  PRICE_TABLE_KEY,
  type PriceTable,
  stockKey,
} from './catalog-store';
import {
  CountryNotAvailable,
  NotEnoughProxies,
  ServiceUnavailable,
  UnsupportedPeriod,
} from './catalog.errors';
import { checkPeriod } from './rental-periods';

export interface Quote {
  /** The customer's price of one proxy. The total is exactly `count` times this. */
  readonly unitPrice: Money;
  readonly total: Money;
  /** The provider's price of all proxies, roubles, a decimal string. */
  readonly providerPrice: string;
  readonly markup: Markup;
}

export interface Offer {
  readonly version: IpVersion;
  /** Days. */
  readonly period: number;
  readonly count: number;
}

export interface Buyer {
  readonly userId: number;
  /** In lower case. A quote is for no country in particular: null. */
  readonly country: string | null;
}

/** The customer's price of one proxy; null where it is not known. */
export type PriceList = (
  offer: Pick<Offer, 'version' | 'period'> & {
    /** In lower case. */
    readonly country: string;
  },
) => Money | null;

/** The ages of what this process has in memory; null where it has nothing. */
export type CatalogAges = Readonly<
  Record<'countries' | 'stock' | 'prices', ReturnType<CatalogCache<unknown>['ages']>>
>;

/** The provider is asked again for a period that it refused to sell after this time. */
const REFUSED_MS = 10 * 60_000;
const offerKey = (version: IpVersion, period: number): string => `${version}/${period}`;

/** Kept in place of an exact price when the provider does not sell the period. */
const UNSUPPORTED = 'unsupported';
/** Customers can ask for any number of exact prices, so only so many are kept. */
const MAX_EXACT_PRICES = 1000;
/** How long an exact price waits for its turn. */
const LONGEST_TURN_WAIT_MS = 10_000;
/** Further ones of a user would wait in vain: the provider takes three calls a second. */
const MOST_IN_LINE = 100;
/**
 * Without a table that is less than a minute old no order can be charged: from this age on it is fetched as
 * an order would be.
 */
const TABLE_NEEDED_MS = 50_000;

/**
 * Countries, stock and prices as the provider last told them, plus the markup. Answers come from this
 * process's cache, which follows the store that all replicas share. They are at most a minute old while the
 * provider answers, and at most a day old while it does not; the price that an order is charged is never
 * older than a minute.
 */
@Injectable()
export class CatalogService implements OnModuleDestroy {
  private readonly logger = new Logger(CatalogService.name);
  private readonly countryLists: CatalogCache<readonly string[]>;
  private readonly stocks: CatalogCache<number>;
  private readonly priceTables: CatalogCache<PriceTable>;
  /** Prices of offers that are not in the table. */
  private readonly exactPrices: CatalogCache<string>;
  /**
   * Customers can ask for any number of exact prices. Few wait for their rate permits at once, so that an
   * order waits behind hardly any preview.
   */
  private readonly turns = { order: new FairTurns(4, 2), preview: new FairTurns(2, 1) };
  /** Proxies sold by this process that the store does not know of yet, by the key of their stock. */
  private readonly unwrittenSales = new Map<string, number>();
  private writing: Promise<void> = Promise.resolve();
  /** Stocks that are being read because the copy was wrong, by their key. */
  private readonly corrections = new Map<string, Promise<number>>();
  private followedUntil = 0;
  /** When the provider last refused to sell a period, by version and period. At most one entry for each. */
  private readonly refusedPeriods = new Map<string, Moment>();
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

  /** Lists the codes of the countries on sale, in lower case, sorted. @throws ServiceUnavailable */
  countries(version: IpVersion): Promise<readonly string[]> {
    return this.countriesFor('rest', version);
  }

  /** Gives 0 for a country that is not on sale. @param country in lower case @throws ServiceUnavailable */
  stock(country: string, version: IpVersion): Promise<number> {
    return this.stockFor('rest', country, version);
  }

  /**
   * Quotes the price of an offer as a customer sees it. No country is charged more.
   *
   * @param closed aborts when nobody waits for it any more
   * @throws PeriodTooShort, UnsupportedPeriod, ServiceUnavailable
   */
  async quote(offer: Offer, userId: number, closed?: AbortSignal): Promise<Quote> {
    this.checkRentalPeriod(offer.version, offer.period);
    return this.priceOf(offer, { userId, country: null }, 'get', this.inTurn('preview', userId, closed));
  }

  /**
   * The one rule of quotes and purchases for periods, so that every quote can be bought. It includes what the
   * provider has lately refused to sell: some price more periods than they sell.
   *
   * @throws PeriodTooShort, UnsupportedPeriod
   */
  checkRentalPeriod(version: IpVersion, period: number): void {
    checkPeriod(version, period, 'rental');
    const refused = this.refusedPeriods.get(offerKey(version, period));
    if (refused && refused.elapsedMs() < REFUSED_MS) throw new UnsupportedPeriod();
  }

  /** Keeps in mind that the provider refused to sell proxies for this period. */
  notePeriodRefused(version: IpVersion, period: number): void {
    this.refusedPeriods.set(offerKey(version, period), this.clock.moment());
  }

  /** @throws CountryNotAvailable, NotEnoughProxies, ServiceUnavailable */
  async checkStock(country: string, version: IpVersion, count: number): Promise<void> {
    if (!(await this.countriesFor('order', version)).includes(country)) throw new CountryNotAvailable();
    if ((await this.stockFor('order', country, version)) < count) throw new NotEnoughProxies();
  }

  /**
   * Asks the provider for a stock that has just turned out to be smaller than the copy says, and corrects the
   * copy. It waits behind orders, so that shortages delay nobody.
   *
   * @throws ProviderError
   */
  readStock(country: string, version: IpVersion): Promise<number> {
    const key = stockKey(country, version);
    const underWay = this.corrections.get(key);
    if (underWay) return underWay;
    const reading = this.correctStock(key, country, version).finally(() => this.corrections.delete(key));
    this.corrections.set(key, reading);
    return reading;
  }

  /**
   * Asks the provider for a stock, for an order that must know.
   *
   * @throws CountryNotAvailable, ServiceUnavailable
   */
  async stockNow(country: string, version: IpVersion): Promise<number> {
    if (!(await this.countriesFor('order', version)).includes(country)) throw new CountryNotAvailable();
    return this.readStock(country, version).catch(throwUnavailable);
  }

  /**
   * Gives the price that an order is charged: the quote, or less in a country that is cheaper; never older
   * than a minute. The caller checks the bounds of the period.
   *
   * @param use what is only a preview, as a dry run is, waits behind orders
   * @throws UnsupportedPeriod, ServiceUnavailable
   */
  chargedPrice(offer: Offer, buyer: Buyer, use: 'order' | 'preview' = 'order'): Promise<Quote> {
    return this.priceOf(offer, buyer, 'getFresh', this.inTurn(use, buyer.userId));
  }

  /** Has the price of an offer that an order was charged refreshed in the background, for the next one. */
  notePriceUsed(offer: Offer): void {
    const { version, period, count } = offer;
    this.exactPrices.want(exactPriceKey(version, period, count), () => this.fetchExactPrice(offer));
  }

  /**
   * Gives the prices of single proxies for a user, as far as the copy of the catalog has them: a function
   * that asks nobody, for very many offers. The copy is as old as that of a quote.
   */
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

  /**
   * Subtracts from the stock what was just sold. Customers of this process see it at once, those of other
   * replicas when it is written and they have read it.
   */
  noteSale(country: string, version: IpVersion, count: number): void {
    const key = stockKey(country, version);
    this.unwrittenSales.set(key, (this.unwrittenSales.get(key) ?? 0) + count);
  }

  /** Writes to the store what was sold since the last time. Never rejects. */
  writeSales(): Promise<void> {
    // One after the other, also at the end of the process: two at once would subtract the same sales.
    this.writing = this.writing.then(() => this.writeUnwrittenSales());
    return this.writing;
  }

  private async writeUnwrittenSales(): Promise<void> {
    // What is sold meanwhile is written the next time.
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

  ages(): CatalogAges {
    return {
      countries: this.countryLists.ages(),
      stock: this.stocks.ages(),
      prices: this.priceTables.ages(),
    };
  }

  /** Takes over what other replicas have fetched and sold. */
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

  /**
   * Starts to refresh what customers of this process ask for before it is too old. Only a few refreshes run
   * at once, because each waits for a rate permit.
   */
  refreshDue(): void {
    this.refreshSome([this.priceTables], 1);
    this.refreshSome([this.exactPrices], 1);
    this.refreshSome([this.countryLists, this.stocks], 2);
  }

  /** How old the oldest copy of each kind is that customers of this process ask for, in milliseconds. */
  agesMs(): Readonly<Record<string, number | undefined>> {
    return {
      countries: this.countryLists.oldestWantedMs(),
      stock: this.stocks.oldestWantedMs(),
      prices: this.priceTables.oldestWantedMs(),
      exact_prices: this.exactPrices.oldestWantedMs(),
    };
  }

  /** Bounds what the database keeps. */
  forgetOldPrices(): Promise<void> {
    return this.store.keepYoungest('price', MAX_EXACT_PRICES);
  }

  private countriesFor(priority: CallPriority, version: IpVersion): Promise<readonly string[]> {
    return this.countryLists
      .get(countriesKey(version), async (ageMs) => {
        const countries = await this.provider.countries(version, { priority: priorityAt(ageMs, priority) });
        return [...new Set(countries)].sort();
      })
      .catch(throwUnavailable);
  }

  private async stockFor(priority: CallPriority, country: string, version: IpVersion): Promise<number> {
    if (!(await this.countriesFor(priority, version)).includes(country)) return 0;
    const key = stockKey(country, version);
    const stock = await this.stocks
      .get(key, (ageMs) => this.provider.stock(country, version, { priority: priorityAt(ageMs, priority) }))
      .catch(throwUnavailable);
    return Math.max(0, stock - (this.unwrittenSales.get(key) ?? 0));
  }

  private async correctStock(key: string, country: string, version: IpVersion): Promise<number> {
    const stock = await this.provider.stock(country, version, { priority: 'confirmation' });
    const entry = await this.store.correct(key, stock);
    if (entry) this.stocks.apply(entry);
    return stock;
  }

  private async priceOf(
    offer: Offer,
    buyer: Buyer,
    lookUp: 'get' | 'getFresh',
    inTurn: InTurn,
  ): Promise<Quote> {
    const providerPrice = await this.providerPrice(offer, lookUp, inTurn).catch(throwUnavailable);
    if (providerPrice === UNSUPPORTED) throw new UnsupportedPeriod();
    const markup = this.markups.of({ ...buyer, version: offer.version, period: offer.period });
    const unitPrice = unitPriceWithMarkup(providerPrice, offer.count, markup.percent);
    if (!unitPrice.isPositive()) throw new UnsupportedPeriod();
    return { unitPrice, total: unitPrice.times(offer.count), providerPrice, markup };
  }

  /** Looks an offer up in the table, and asks for its exact price only when the table lacks it. */
  private async providerPrice(offer: Offer, lookUp: 'get' | 'getFresh', inTurn: InTurn): Promise<string> {
    const { version, period, count } = offer;
    const table = await this.priceTable(lookUp);
    const single = table[version]?.[period];
    if (single !== undefined) return multiplyDecimal(single, count);
    const key = exactPriceKey(version, period, count);
    return this.exactPrices[lookUp](key, () => this.fetchExactPrice(offer), inTurn);
  }

  private inTurn(use: 'order' | 'preview', userId: number, closed?: AbortSignal): InTurn {
    const turns = this.turns[use];
    return async (refresh) => {
      if (turns.waitingOf(userId) >= MOST_IN_LINE) throw new ProviderUnavailable('the line is too long');
      const limit = new TimeLimit(LONGEST_TURN_WAIT_MS, closed);
      try {
        return await turns.run(userId, refresh, limit.signal);
      } catch (error) {
        if (error !== limit.signal.reason) throw error;
        throw new ProviderUnavailable('the turn did not come in time');
      } finally {
        limit.release();
      }
    };
  }

  private priceTable(lookUp: 'get' | 'getFresh'): Promise<PriceTable> {
    return this.priceTables[lookUp](PRICE_TABLE_KEY, (ageMs) =>
      this.fetchTable(ageMs < TABLE_NEEDED_MS ? 'price' : 'order'),
    );
  }

  private async fetchTable(priority: CallPriority): Promise<PriceTable> {
    const table = await this.provider.priceTable({ priority });
    return Object.fromEntries([...table].map(([version, prices]) => [version, Object.fromEntries(prices)]));
  }

  /**
   * A period that the provider does not sell is worth keeping as well. Customers can name thousands of
   * periods, so these calls wait behind all others, even when an order needs them.
   */
  private async fetchExactPrice(offer: Offer): Promise<string> {
    try {
      return await this.provider.totalPrice(offer, { priority: 'exact' });
    } catch (error) {
      if (error instanceof ProviderRefused && error.reason === 'period') return UNSUPPORTED;
      throw error;
    }
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
      next?.refresh().catch((error: unknown) => {
        // The circuit breakers log the provider's failures.
        if (error instanceof ProviderError || this.isStopping) return;
        this.logger.error(`${next.key}: the refresh failed`, stackOf(error));
      });
    }
  }
}

/** An order waits only for what is not known at all: that is fetched with its priority. */
const priorityAt = (ageMs: number, priority: CallPriority): CallPriority =>
  ageMs === Infinity ? priority : 'rest';

/** Tells customers nothing of the provider but when to ask again, if that is known. */
function throwUnavailable(error: unknown): never {
  if (error instanceof ProviderClosed) throw new ServiceUnavailable(error);
  if (error instanceof ProviderError) throw new ServiceUnavailable();
  throw error;
}
