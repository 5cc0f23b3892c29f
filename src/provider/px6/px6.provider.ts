import { setTimeout as pause } from 'node:timers/promises';
import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import type { z } from 'zod';
import { Clock, compareDecimals, IP_VERSIONS, type IpVersion } from '../../common';
import { AppConfig } from '../../config';
import { CallRate } from '../call-rate';
import { CircuitBreakers } from '../circuit-breakers';
import { ProviderAccount } from '../provider-account';
import { ProviderClosed, ProviderError, ProviderOutcomeUnknown, ProviderRefused } from '../provider-errors';
import {
  type CallPriority,
  type ListedProxy,
  type MoneyCallOptions,
  type PriceTable,
  type ProviderBalance,
  type ProviderProlongation,
  type ProviderProxy,
  type ProviderPurchase,
  type ProviderReadOptions,
  type ProviderStatus,
  ProxyProvider,
  type PurchaseRequestToProvider,
  type RatePermit,
} from '../proxy-provider';
import type { answers, Px6ListedProxy, Px6Method, Px6Proxy } from './px6-answers';
import { Px6Client, TooManyCalls } from './px6-client';

/** Its name wherever a provider is named. */
export const PX6 = 'px6';

/** The provider's numbers of the versions. */
const WIRE_VERSION = { '6': '6', '4': '4', '4s': '3' } as const satisfies Record<IpVersion, string>;

/** The largest page of a listing, and the most that one purchase can hold. */
const PAGE_SIZE = 1000;

/** The longest that a read waits for its place in the rate. */
const LONGEST_READ_WAIT_MS = 10_000;

/** A page of a long listing is asked for again after a failure: reading costs nothing. */
const PAGE_ATTEMPTS = 5;
const PAGE_WAIT_MS = 60_000;

/** By then the balance has been read again. */
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

const toListedProxy = (proxy: Px6ListedProxy): ListedProxy => ({
  ...toProviderProxy(proxy),
  tag: proxy.descr,
  country: proxy.country?.toLowerCase() ?? null,
  version: toIpVersion(proxy.version),
});

/** Whether a read finds out about orders: a listing that is not for its own sake. */
const reconciles = (method: Px6Method, { priority }: ProviderReadOptions): boolean =>
  method === 'getproxy' && (priority === 'order' || priority === 'confirmation');

type Answer<Method extends Px6Method> = z.output<(typeof answers)[Method]>;

/** The adapter to PROXY6 (px6.link, formerly proxy6.net and px6.me). */
@Injectable()
export class Px6Provider extends ProxyProvider implements OnModuleDestroy {
  readonly name = PX6;

  private readonly breakers: CircuitBreakers;
  private readonly readWaitMs: number;
  private balanceRead: Promise<void> | undefined;

  constructor(
    private readonly client: Px6Client,
    private readonly rate: CallRate,
    private readonly account: ProviderAccount,
    config: AppConfig,
    clock: Clock,
  ) {
    super();
    this.readWaitMs = Math.min(LONGEST_READ_WAIT_MS, config.purchases.waitMs);
    this.breakers = new CircuitBreakers(
      { ...config.breaker, clock },
      () => this.callInTurn('getprice', {}, { priority: 'price' }, this.readWaitMs),
      () => account.balance(),
    );
  }

  onModuleDestroy(): void {
    this.breakers.shutDown();
  }

  async countries(version: IpVersion, options?: ProviderReadOptions): Promise<string[]> {
    const { list } = await this.read('getcountry', { version: WIRE_VERSION[version] }, options);
    return list.map((country) => country.toLowerCase());
  }

  async stock(country: string, version: IpVersion, options?: ProviderReadOptions): Promise<number> {
    const { count } = await this.read('getcount', { country, version: WIRE_VERSION[version] }, options);
    return count;
  }

  async priceTable(options?: ProviderReadOptions): Promise<PriceTable> {
    const { data } = await this.read('getprice', {}, options);
    if (!data) throw new ProviderOutcomeUnknown('getprice was answered without its table');
    return new Map(
      IP_VERSIONS.map((version) => [
        version,
        new Map(
          Object.entries(data[WIRE_VERSION[version]] ?? {}).map(([days, price]) => [Number(days), price]),
        ),
      ]),
    );
  }

  async totalPrice(
    offer: { count: number; period: number; version: IpVersion },
    options?: ProviderReadOptions,
  ): Promise<string> {
    const query = {
      count: String(offer.count),
      period: String(offer.period),
      version: WIRE_VERSION[offer.version],
    };
    const { price } = await this.read('getprice', query, options);
    if (price === undefined) throw new ProviderOutcomeUnknown('getprice was answered without the price');
    return price;
  }

  async proxiesByTag(tag: string, options?: ProviderReadOptions): Promise<ListedProxy[]> {
    const { list } = await this.read(
      'getproxy',
      { state: 'all', descr: tag, limit: String(PAGE_SIZE) },
      options,
    );
    // A purchase holds at most a page. More under its tag is none of ours to guess about.
    if (list.length > PAGE_SIZE) {
      throw new ProviderOutcomeUnknown('getproxy was answered with more than a page');
    }
    return list.filter((proxy) => proxy.descr === tag).map(toListedProxy);
  }

  async *allProxies({
    priority,
    permit,
  }: Pick<ProviderReadOptions, 'priority' | 'permit'> = {}): AsyncGenerator<readonly ListedProxy[]> {
    for (let page = 1; ; page += 1) {
      const list = await this.readPage(page, {
        ...(priority && { priority }),
        ...(page === 1 && permit && { permit }),
      });
      yield list.map(toListedProxy);
      if (list.length < PAGE_SIZE) return;
    }
  }

  private async readPage(
    page: number,
    { permit, ...options }: ProviderReadOptions,
  ): Promise<readonly Px6ListedProxy[]> {
    const query = { state: 'all', page: String(page), limit: String(PAGE_SIZE) };
    for (let attempt = 1; ; attempt += 1) {
      try {
        const asked = attempt === 1 && permit ? { ...options, permit } : options;
        return (await this.look('getproxy', query, asked, PAGE_WAIT_MS)).list;
      } catch (error) {
        const passing = error instanceof ProviderError && !(error instanceof ProviderRefused);
        if (!passing || attempt === PAGE_ATTEMPTS) throw error;
        if (error instanceof ProviderClosed) await pause(error.retryAfterSeconds * 1000);
      }
    }
  }

  /** Asks again once when calls were too many, others' perhaps. What reconciles orders counts its failed looks itself. */
  private async read<Method extends Px6Method>(
    method: Method,
    parameters: Readonly<Record<string, string>>,
    { permit, ...options }: ProviderReadOptions = {},
  ): Promise<Answer<Method>> {
    try {
      return await this.look(method, parameters, permit ? { ...options, permit } : options, this.readWaitMs);
    } catch (error) {
      if (!(error instanceof TooManyCalls) || reconciles(method, options)) throw error;
      return this.look(method, parameters, options, this.readWaitMs);
    }
  }

  private async look<Method extends Px6Method>(
    method: Method,
    parameters: Readonly<Record<string, string>>,
    options: ProviderReadOptions,
    maxWaitMs: number,
  ): Promise<Answer<Method>> {
    const call = () => this.callInTurn(method, parameters, options, maxWaitMs);
    // A catalog that fails must not stop what finds out about orders.
    if (reconciles(method, options)) return call();
    try {
      return await this.breakers.look(call);
    } catch (error) {
      if (error instanceof ProviderClosed) void options.permit?.giveBack();
      throw error;
    }
  }

  private async callInTurn<Method extends Px6Method>(
    method: Method,
    parameters: Readonly<Record<string, string>>,
    options: ProviderReadOptions,
    maxWaitMs: number,
  ): Promise<Answer<Method>> {
    const { priority = 'rest' } = options;
    const permit = options.permit ?? (await this.waitForPermit(priority, maxWaitMs));
    return this.client.call(method, parameters, { ...options, priority, permit });
  }

  assertTakesOrders(quoted?: string): void {
    this.breakers.assertTakesOrders();
    const balance = this.balance();
    if (quoted === undefined || !balance || compareDecimals(balance.amount, quoted) >= 0) return;
    // It may have been filled up since: the next who asks finds what it is now.
    this.balanceRead ??= this.readBalance().finally(() => (this.balanceRead = undefined));
    throw new ProviderClosed(
      'the balance at the provider does not cover the order',
      SHORT_OF_FUNDS_RETRY_SECONDS,
    );
  }

  /** Any answer names the balance. */
  private async readBalance(): Promise<void> {
    await this.callInTurn('getprice', {}, { priority: 'price' }, this.readWaitMs).catch(() => undefined);
  }

  balance(): ProviderBalance | null {
    return this.account.balance();
  }

  status(): ProviderStatus {
    return { breakers: this.breakers.status(), waitingCalls: this.rate.waitingCalls() };
  }

  waitForPermit(priority: CallPriority, maxWaitMs: number): Promise<RatePermit> {
    return this.rate.waitForPermit(priority, maxWaitMs);
  }

  buy(purchase: PurchaseRequestToProvider, options: MoneyCallOptions): Promise<ProviderPurchase> {
    return this.breakers.spend(options.quoted, async () => {
      const answer = await this.client.call(
        'buy',
        {
          count: String(purchase.count),
          period: String(purchase.period),
          country: purchase.country,
          version: WIRE_VERSION[purchase.version],
          type: purchase.proxyType,
          descr: purchase.tag,
        },
        { ...options, priority: 'order' },
      );
      // The provider repeats the count that was asked for, however many it hands over.
      if (
        answer.count !== purchase.count ||
        answer.list.length > purchase.count ||
        answer.list.length === 0
      ) {
        throw new ProviderOutcomeUnknown('buy was answered with another count');
      }
      return {
        providerOrderId: answer.order_id ?? null,
        charge: answer.price,
        proxies: answer.list.map(toProviderProxy),
      };
    });
  }

  prolong(
    { proxyIds, period }: { proxyIds: readonly string[]; period: number },
    options: MoneyCallOptions,
  ): Promise<ProviderProlongation> {
    return this.breakers.spend(options.quoted, async () => {
      const answer = await this.client.call(
        'prolong',
        { period: String(period), ids: proxyIds.join(',') },
        { ...options, priority: 'order' },
      );
      return {
        providerOrderId: answer.order_id ?? null,
        charge: answer.price,
        dateEnds: new Map(answer.list.map((proxy) => [proxy.id, proxy.unixtime_end])),
      };
    });
  }
}
