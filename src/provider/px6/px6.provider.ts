import { setTimeout as pause } from 'node:timers/promises';
import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { Clock, IP_VERSIONS, type IpVersion, type ProxyType } from '../../common';
import { AppConfig } from '../../config';
import { CircuitBreakers } from '../circuit-breakers';
import { ProviderAccount } from '../provider-account';
import {
  ProviderClosed,
  ProviderError,
  ProviderOutcomeUnknown,
  ProviderRefused,
  ProviderUnreadable,
  TooManyCalls,
} from '../provider-errors';
import {
  type CallPriority,
  type ListedPage,
  type ListedProxy,
  ListingIncomplete,
  type ListingOptions,
  type MoneyCallOptions,
  type PriceTable,
  type ProviderProlongation,
  type ProviderProxy,
  type ProviderPurchase,
  type ProviderPurchaseRequest,
  type ProviderStatus,
  ProxyProvider,
  type RatePermit,
  type ReadOptions,
  type UnreadRow,
} from '../proxy-provider';
import { RatePermits } from '../rate-permits';
import { ApiKey } from './api-key';
import { type MethodResponse, Px6Client } from './px6-client';
import {
  isKnownType,
  type Px6ListedProxy,
  type Px6Method,
  type Px6Proxy,
  toUnreadRow,
} from './px6-responses';

/** The provider's name in the database. */
export const PX6_NAME = 'px6';

const WIRE_VERSION = { '6': '6', '4': '4', '4s': '3' } as const satisfies Record<IpVersion, string>;

/** The provider may return shorter pages. */
const PAGE_SIZE = 1000;

const LONGEST_READ_WAIT_MS = 10_000;

/** Each page is retried separately, so that one failure does not restart a long listing. */
const PAGE_ATTEMPTS = 5;
const PAGE_WAIT_MS = 60_000;

/** Maximum number of unreadable rows and unknown proxy types that are logged, each once. */
const MOST_NAMED = 1000;

/** The balance is read again within this time. */
const SHORT_OF_FUNDS_RETRY_SECONDS = 5;

const toProviderProxy = (proxy: Px6Proxy): ProviderProxy => ({
  id: proxy.id,
  host: proxy.host,
  port: proxy.port,
  login: proxy.user,
  password: proxy.pass,
  type: proxy.type,
  dateStart: proxy.unixtime,
  dateEnd: proxy.unixtime_end,
});

const toIpVersion = (wireVersion: string | null | undefined): IpVersion | null =>
  IP_VERSIONS.find((version) => WIRE_VERSION[version] === wireVersion) ?? null;

/** Uses `Object.assign`: adding fields to a spread object is fifty times slower. */
const toListedProxy = (proxy: Px6ListedProxy): ListedProxy =>
  Object.assign(toProviderProxy(proxy), {
    orderReference: proxy.descr,
    country: proxy.country?.toLowerCase() ?? null,
    version: toIpVersion(proxy.version),
  });

/**
 * Reads pages until one is empty, because the provider's page size may be smaller than ours.
 * @param lastMayRepeat whether the provider may return its last page again for any later page number
 * @throws ProviderOutcomeUnknown if any other page is repeated
 */
async function* pagesOf(
  read: (page: number) => Promise<ListedPage>,
  { lastMayRepeat }: { lastMayRepeat: boolean },
): AsyncGenerator<ListedPage> {
  let before = new Set<string>();
  for (let number = 1; ; number += 1) {
    const page = await read(number);
    const ids = [...page.proxies, ...page.unread].map(({ id }, place) => id ?? `row ${place}`);
    if (ids.length === 0) return;
    if (ids.length === before.size && ids.every((id) => before.has(id))) {
      // If page 2 repeats a full page 1, paging does not work.
      if (lastMayRepeat && (number > 2 || ids.length < PAGE_SIZE)) return;
      throw new ProviderOutcomeUnknown('getproxy returned the same page again');
    }
    yield page;
    before = new Set(ids);
  }
}

/** Whether a read determines the outcome of orders. */
const reconciles = (method: Px6Method, { priority }: ReadOptions): boolean =>
  method === 'getproxy' && (priority === 'order' || priority === 'confirmation');

const withoutPermit = ({ permit: _used, ...options }: ReadOptions): ReadOptions => options;

/** The adapter for PROXY6 (px6.link, formerly proxy6.net and px6.me). */
@Injectable()
export class Px6Provider extends ProxyProvider implements OnModuleDestroy {
  readonly name = PX6_NAME;

  private readonly logger = new Logger(Px6Provider.name);
  private readonly named = new Set<string>();
  private readonly breakers: CircuitBreakers;
  private readonly readWaitMs: number;
  private probing: Promise<unknown> | undefined;
  private readonly stopping = new AbortController();

  constructor(
    private readonly client: Px6Client,
    private readonly permits: RatePermits,
    private readonly account: ProviderAccount,
    private readonly apiKey: ApiKey,
    config: AppConfig,
    clock: Clock,
  ) {
    super();
    this.readWaitMs = Math.min(LONGEST_READ_WAIT_MS, config.purchases.waitMs);
    this.breakers = new CircuitBreakers(
      clock,
      config.tuning,
      () => this.probe(),
      () => account.balance(),
    );
  }

  stop(): void {
    this.breakers.shutDown();
    this.permits.stop();
    this.stopping.abort();
  }

  onModuleDestroy(): void {
    this.stop();
  }

  async countries(version: IpVersion, options?: ReadOptions): Promise<string[]> {
    const { list } = await this.read('getcountry', { version: WIRE_VERSION[version] }, options);
    if (list.rows.length < list.odd.length) throw new ProviderUnreadable('getcountry returned other rows');
    return list.rows.map((country) => country.toLowerCase());
  }

  async stock(country: string, version: IpVersion, options?: ReadOptions): Promise<number> {
    const { count } = await this.read('getcount', { country, version: WIRE_VERSION[version] }, options);
    return count;
  }

  async priceTable(options?: ReadOptions): Promise<PriceTable> {
    const { data } = await this.read('getprice', {}, options);
    if (!data) throw new ProviderOutcomeUnknown('getprice returned no table');
    return new Map(IP_VERSIONS.map((version) => [version, new Map(data[WIRE_VERSION[version]])]));
  }

  async totalPrice(
    offer: { count: number; period: number; version: IpVersion },
    options?: ReadOptions,
  ): Promise<string> {
    const query = {
      count: String(offer.count),
      period: String(offer.period),
      version: WIRE_VERSION[offer.version],
    };
    const { price } = await this.read('getprice', query, options);
    if (price === undefined) throw new ProviderOutcomeUnknown('getprice returned no price');
    return price;
  }

  /**
   * The provider's filter never drops a matching row, so an empty first page proves that there are none. The
   * list may be incomplete if it contains another order reference, which shows that the filter did not work,
   * or a repeated row, which shows that rows moved between pages.
   */
  async proxiesByReference(
    orderReference: string,
    { isEnough = () => false, ...options }: ListingOptions = {},
  ): Promise<ListedProxy[]> {
    const found = new Map<string, ListedProxy>();
    let unread = 0;
    let isProof = true;
    const pages = pagesOf(
      async (page) => {
        const query = { state: 'all', descr: orderReference, page: String(page), limit: String(PAGE_SIZE) };
        return this.toPage(await this.read('getproxy', query, page === 1 ? options : withoutPermit(options)));
      },
      { lastMayRepeat: false },
    );
    for await (const page of pages) {
      for (const proxy of page.proxies) {
        if (proxy.orderReference !== orderReference || found.has(proxy.id)) isProof = false;
        else found.set(proxy.id, proxy);
      }
      if (page.unread.length > 0) isProof = false;
      unread += page.unread.filter((row) => row.orderReference === orderReference).length;
      const listed = [...found.values()];
      if (isEnough(listed, unread)) return listed;
    }
    if (!isProof) throw new ListingIncomplete([...found.values()]);
    return [...found.values()];
  }

  allProxies(options: Pick<ReadOptions, 'priority' | 'permit'> = {}): AsyncGenerator<ListedPage> {
    return pagesOf((number) => this.readPage(number, options), { lastMayRepeat: true });
  }

  private toPage({ list: { rows, odd } }: MethodResponse<'getproxy'>): ListedPage {
    const unread = odd.map(toUnreadRow);
    for (const row of unread) this.nameUnread(row);
    for (const { type } of rows) {
      if (!isKnownType(type)) this.nameOnce(`an unknown proxy type: ${type}`);
    }
    return { proxies: rows.map(toListedProxy), unread };
  }

  private nameUnread({ id, fields }: UnreadRow): void {
    const row = `row ${id ?? 'without an id'}: ${fields.join(', ') || 'no fields'}`;
    this.nameOnce(`a row that cannot be read: ${row}`);
  }

  private nameOnce(listed: string): void {
    if (this.named.has(listed) || this.named.size === MOST_NAMED) return;
    this.named.add(listed);
    this.logger.warn(`the provider lists ${listed}`);
  }

  private async readPage(page: number, options: ReadOptions): Promise<ListedPage> {
    const query = { state: 'all', page: String(page), limit: String(PAGE_SIZE) };
    for (let attempt = 1; ; attempt += 1) {
      try {
        const attemptOptions = page === 1 && attempt === 1 ? options : withoutPermit(options);
        return this.toPage(await this.readOnce('getproxy', query, attemptOptions, PAGE_WAIT_MS));
      } catch (error) {
        const mayPass =
          error instanceof ProviderError &&
          !(error instanceof ProviderRefused || error instanceof ProviderUnreadable);
        if (!mayPass || attempt === PAGE_ATTEMPTS) throw error;
        if (error instanceof ProviderClosed) {
          const { signal } = this.stopping;
          await pause(error.retryAfterSeconds * 1000, undefined, { signal }).catch(() => undefined);
        }
      }
    }
  }

  /** Retries once if there were too many calls. Reconciliation is excluded, because it retries by itself. */
  private async read<Method extends Px6Method>(
    method: Method,
    parameters: Readonly<Record<string, string>>,
    options: ReadOptions = {},
  ): Promise<MethodResponse<Method>> {
    try {
      return await this.readOnce(method, parameters, options, this.readWaitMs);
    } catch (error) {
      if (!(error instanceof TooManyCalls) || reconciles(method, options)) throw error;
      return this.readOnce(method, parameters, withoutPermit(options), this.readWaitMs);
    }
  }

  private async readOnce<Method extends Px6Method>(
    method: Method,
    parameters: Readonly<Record<string, string>>,
    options: ReadOptions,
    maxWaitMs: number,
  ): Promise<MethodResponse<Method>> {
    const call = () => this.callWithPermit(method, parameters, options, maxWaitMs);
    // Reconciliation bypasses the breaker, because failing catalog reads must not stop it.
    if (reconciles(method, options)) return call();
    try {
      return await this.breakers.read(call);
    } catch (error) {
      if (error instanceof ProviderClosed) void options.permit?.giveBack();
      throw error;
    }
  }

  private async callWithPermit<Method extends Px6Method>(
    method: Method,
    parameters: Readonly<Record<string, string>>,
    options: ReadOptions,
    maxWaitMs: number,
  ): Promise<MethodResponse<Method>> {
    const { priority = 'rest' } = options;
    const permit = options.permit ?? (await this.waitForPermit(priority, maxWaitMs));
    return this.client.call(method, parameters, { ...options, priority, permit });
  }

  assertTakesOrders(quoted?: string): void {
    this.breakers.assertTakesOrders();
    if (quoted === undefined || this.account.covers(quoted)) return;
    this.readBalanceForTheNext();
    throw new ProviderClosed(
      'the balance at the provider does not cover the order',
      SHORT_OF_FUNDS_RETRY_SECONDS,
    );
  }

  async affords(cost: string): Promise<boolean> {
    if (this.account.covers(cost)) return true;
    await this.account.followStore();
    if (this.account.covers(cost)) return true;
    this.readBalanceForTheNext();
    return false;
  }

  /** Reads the balance in the background, because our account may have been topped up. */
  private readBalanceForTheNext(): void {
    this.probe().catch(() => undefined);
  }

  /** Bypasses the breakers. The response updates the balance and shows whether orders can be sent. */
  private probe(): Promise<unknown> {
    this.probing ??= this.callWithPermit('getprice', {}, { priority: 'confirmation' }, this.readWaitMs)
      .catch((error: unknown) => {
        // An unreadable price table does not matter, because the response contained the balance.
        if (!(error instanceof ProviderUnreadable)) throw error;
      })
      .finally(() => (this.probing = undefined));
    return this.probing;
  }

  spendable(): string | null {
    return this.account.spendable();
  }

  async readBalance(): Promise<string | null> {
    await this.probe();
    return this.account.balance();
  }

  status(): ProviderStatus {
    return { breakers: this.breakers.status(), waitingCalls: this.permits.waitingCalls() };
  }

  async followKey(): Promise<void> {
    const isNew = await this.apiKey.follow(async (key) => {
      const permit = await this.waitForPermit('confirmation', this.readWaitMs);
      return (await this.client.call('account', {}, { permit, priority: 'confirmation', key })).user_id;
    });
    // Probe now, because breakers that the previous key opened may close.
    if (isNew) this.breakers.probeNow();
  }

  waitForPermit(priority: CallPriority, maxWaitMs: number): Promise<RatePermit> {
    return this.permits.waitForPermit(priority, maxWaitMs);
  }

  private async spend<Result>(quoted: string, call: () => Promise<Result>): Promise<Result> {
    try {
      return await this.breakers.spend(quoted, call);
    } catch (error) {
      if (error instanceof ProviderRefused && error.reason === 'out-of-funds') {
        this.account.recordRefusal(quoted);
      }
      throw error;
    }
  }

  buy(purchase: ProviderPurchaseRequest, options: MoneyCallOptions): Promise<ProviderPurchase> {
    return this.spend(options.quoted, async () => {
      const response = await this.client.call(
        'buy',
        {
          count: String(purchase.count),
          period: String(purchase.period),
          country: purchase.country,
          version: WIRE_VERSION[purchase.version],
          type: purchase.proxyType,
          descr: purchase.orderReference,
        },
        { ...options, priority: 'order' },
      );
      // The response's `count` is the number ordered, even if fewer were delivered.
      if (response.count !== purchase.count || response.list.rows.length === 0) {
        throw new ProviderOutcomeUnknown('buy returned another count');
      }
      return {
        providerOrderId: response.order_id ?? null,
        charge: response.price,
        proxies: response.list.rows.map(toProviderProxy),
      };
    });
  }

  prolong(
    { proxyIds, period }: { proxyIds: readonly string[]; period: number },
    options: MoneyCallOptions,
  ): Promise<ProviderProlongation> {
    return this.spend(options.quoted, async () => {
      const response = await this.client.call(
        'prolong',
        { period: String(period), ids: proxyIds.join(',') },
        { ...options, priority: 'order' },
      );
      return {
        providerOrderId: response.order_id ?? null,
        charge: response.price,
        dateEnds: new Map(response.list.rows.map((proxy) => [proxy.id, proxy.unixtime_end])),
      };
    });
  }

  /** Failures do not open the breaker: error 30 may just mean that the proxy already had this type. */
  async setType(
    { proxyId, proxyType }: { proxyId: string; proxyType: ProxyType },
    options: Pick<ReadOptions, 'priority' | 'deadline'> = {},
  ): Promise<void> {
    this.breakers.assertTakesReads();
    await this.callWithPermit('settype', { ids: proxyId, type: proxyType }, options, this.readWaitMs);
  }

  async checkProxy(proxyId: string, options?: ReadOptions): Promise<boolean> {
    return (await this.read('check', { ids: proxyId }, options)).proxy_status;
  }

  /** Deletes by id, because several proxies may share an order reference. */
  async deleteProxy(proxyId: string, options?: ReadOptions): Promise<void> {
    await this.read('delete', { ids: proxyId }, options);
  }
}
