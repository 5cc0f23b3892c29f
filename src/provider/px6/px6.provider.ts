import { Inject, Injectable } from '@nestjs/common';
import { AppConfig } from '../../config';
import { type CallPriority, CallRate } from '../call-rate';
import { ProviderError, ProviderOutcomeUnknown, ProviderRefused } from '../provider-errors';
import {
  type IpVersion,
  type ListedProxy,
  type ProviderCallOptions,
  type ProviderProlongation,
  type ProviderPurchase,
  type PurchaseRequestToProvider,
  type UpstreamProxy,
  UpstreamProvider,
} from '../upstream-provider';
import type { Px6ListedProxy, Px6Proxy } from './px6-answers';
import { Px6Client } from './px6-client';

/** The provider's numbers of the versions. */
const WIRE_VERSION = { '6': '6', '4': '4', '4s': '3' } as const satisfies Record<IpVersion, string>;

const IP_VERSIONS: readonly IpVersion[] = ['6', '4', '4s'];

/** The largest page of a listing, and the most that one purchase can hold. */
const PAGE_SIZE = 1000;

/** The longest that a read waits for its place in the rate. */
const LONGEST_READ_WAIT_MS = 10_000;

/** A page of a long listing is asked for again after a failure: reading costs nothing. */
const PAGE_ATTEMPTS = 5;
const PAGE_WAIT_MS = 60_000;

const toUpstreamProxy = (proxy: Px6Proxy): UpstreamProxy => ({
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
  ...toUpstreamProxy(proxy),
  tag: proxy.descr,
  country: proxy.country?.toLowerCase() ?? null,
  version: toIpVersion(proxy.version),
});

/** The adapter to PROXY6 (px6.link, formerly proxy6.net and px6.me). */
@Injectable()
export class Px6Provider extends UpstreamProvider {
  readonly name = 'px6';

  private readonly rate: CallRate;
  private readonly readWaitMs: number;

  constructor(
    @Inject(Px6Client) private readonly client: Px6Client,
    @Inject(AppConfig) config: AppConfig,
  ) {
    super();
    this.rate = new CallRate(config.providerRatePerSecond, 1000);
    this.readWaitMs = Math.min(LONGEST_READ_WAIT_MS, config.purchaseWaitMs);
  }

  async countries(version: IpVersion): Promise<string[]> {
    await this.waitForTurn('rest', this.readWaitMs);
    const { list } = await this.client.call('getcountry', { version: WIRE_VERSION[version] });
    return list.map((country) => country.toLowerCase());
  }

  async stock(country: string, version: IpVersion): Promise<number> {
    await this.waitForTurn('rest', this.readWaitMs);
    const { count } = await this.client.call('getcount', { country, version: WIRE_VERSION[version] });
    return count;
  }

  async totalPrice(offer: { count: number; period: number; version: IpVersion }): Promise<string> {
    await this.waitForTurn('rest', this.readWaitMs);
    const { price } = await this.client.call('getprice', {
      count: String(offer.count),
      period: String(offer.period),
      version: WIRE_VERSION[offer.version],
    });
    return price;
  }

  async proxiesByTag(tag: string, options: ProviderCallOptions = {}): Promise<ListedProxy[]> {
    await this.waitForTurn(options.priority ?? 'rest', this.readWaitMs);
    const { list } = await this.client.call(
      'getproxy',
      { state: 'all', descr: tag, limit: String(PAGE_SIZE) },
      options,
    );
    // A purchase holds at most a page. More under its tag is none of ours to guess about.
    if (list.length > PAGE_SIZE)
      throw new ProviderOutcomeUnknown('getproxy was answered with more than a page');
    return list.filter((proxy) => proxy.descr === tag).map(toListedProxy);
  }

  async *allProxies(): AsyncGenerator<readonly ListedProxy[]> {
    for (let page = 1; ; page += 1) {
      const list = await this.readPage(page);
      yield list.map(toListedProxy);
      if (list.length < PAGE_SIZE) return;
    }
  }

  private async readPage(page: number): Promise<readonly Px6ListedProxy[]> {
    for (let attempt = 1; ; attempt += 1) {
      await this.waitForTurn('rest', PAGE_WAIT_MS);
      try {
        const query = { state: 'all', page: String(page), limit: String(PAGE_SIZE) };
        return (await this.client.call('getproxy', query)).list;
      } catch (error) {
        const passing = error instanceof ProviderError && !(error instanceof ProviderRefused);
        if (!passing || attempt === PAGE_ATTEMPTS) throw error;
      }
    }
  }

  waitForTurn(priority: CallPriority, maxWaitMs: number): Promise<void> {
    return this.rate.waitForTurn(priority, maxWaitMs);
  }

  async buy(purchase: PurchaseRequestToProvider, options: ProviderCallOptions): Promise<ProviderPurchase> {
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
      options,
    );
    // The provider repeats the count that was asked for, however many it hands over.
    if (answer.count !== purchase.count || answer.list.length > purchase.count || answer.list.length === 0) {
      throw new ProviderOutcomeUnknown('buy was answered with another count');
    }
    return {
      providerOrderId: answer.order_id ?? null,
      charge: answer.price,
      proxies: answer.list.map(toUpstreamProxy),
    };
  }

  async prolong(
    { proxyIds, period }: { proxyIds: readonly string[]; period: number },
    options: ProviderCallOptions,
  ): Promise<ProviderProlongation> {
    const answer = await this.client.call(
      'prolong',
      { period: String(period), ids: proxyIds.join(',') },
      options,
    );
    return {
      providerOrderId: answer.order_id ?? null,
      charge: answer.price,
      dateEnds: new Map(answer.list.map((proxy) => [proxy.id, proxy.unixtime_end])),
    };
  }
}
