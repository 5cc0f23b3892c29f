import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { AppConfig } from '../../config';
import { queryRows } from '../../database';
import { Deadline, type ListedProxy, ProxyProvider, type RatePermit } from '../../provider';
import { inSharedSpan, type Origin, origin } from '../../tracing';
import { hasAll } from '../order-batch';
import { ProviderCallLog } from '../provider-call-log';
import { OrderClaims } from '../transitions/order-claims';

/** The provider's largest page. */
const PAGE_SIZE = 1000;
/** From this many tags on, listing everything may take fewer calls. */
const TAGS_WORTH_A_FULL_LISTING = 3;

interface WantedDate {
  readonly orderId: number;
  readonly userId: number;
  readonly tag: string;
  readonly providerProxyId: string;
  readonly waitUntil: Deadline;
  readonly origin: Origin;
  readonly resolve: (answer: DateAnswer) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * What became of the question: the end is stored with the order; the provider does not list the proxy; or too
 * many others were to be read first.
 */
export type DateAnswer = 'stored' | 'not-listed' | 'busy';

/**
 * Reads when rentals end at the provider, right before they are prolonged. Proxies that were bought together
 * are read in one listing, first those of the user who was served longest ago. When that takes fewer calls,
 * everything is listed. A listing counts only for orders that asked before it was sent: an older one may not
 * have seen what their order follows.
 */
@Injectable()
export class ProlongationDates {
  private readonly wanted = new Set<WantedDate>();
  private isReading = false;
  /** The users that listings have been made for since somebody began to wait, in order of their last one. */
  private readonly served = new Set<number>();
  /** Dates are read for all requests. */
  private readonly nobody = origin();

  constructor(
    private readonly dataSource: DataSource,
    private readonly provider: ProxyProvider,
    private readonly claims: OrderClaims,
    private readonly calls: ProviderCallLog,
    private readonly config: AppConfig,
  ) {}

  /**
   * Stores the end with the order, which queues it. Whoever has waited for longer than PURCHASE_WAIT_MS while
   * others were listed waits no more.
   *
   * @throws ProviderError
   */
  read(of: Pick<WantedDate, 'orderId' | 'userId' | 'tag' | 'providerProxyId'>): Promise<DateAnswer> {
    return new Promise((resolve, reject) => {
      const waitUntil = Deadline.after(this.config.purchases.waitMs);
      this.wanted.add({ ...of, waitUntil, origin: origin(), resolve, reject });
      if (!this.isReading) this.nobody.run(() => void this.readWanted());
    });
  }

  private async readWanted(): Promise<void> {
    this.isReading = true;
    while (this.wanted.size > 0) {
      try {
        const permit = await this.provider.waitForPermit('order', this.config.purchases.waitMs);
        const isAll = await this.isFullListingShorter().catch(async (error: unknown) => {
          await permit.giveBack();
          throw error;
        });
        const tag = this.chooseNext()?.tag;
        const asked = this.take((one) => isAll || one.tag === tag);
        // The next permit does not wait for this listing.
        void inSharedSpan('orders.read_ends', orderIds(asked), origins(asked), this.nobody, () =>
          this.answerFrom(asked, () =>
            isAll ? this.listEverything(asked, permit) : this.listPurchase(asked, permit),
          ),
        );
        for (const late of this.take(({ waitUntil }) => waitUntil.hasPassed())) late.resolve('busy');
      } catch (error) {
        for (const one of this.take(() => true)) one.reject(error);
      }
    }
    this.served.clear();
    this.isReading = false;
  }

  /** The user who was served longest ago comes first, so that nobody waits for all that another one wants. */
  private chooseNext(): WantedDate | undefined {
    const order = [...this.served];
    const [next] = [...this.wanted].toSorted(
      (one, other) => order.indexOf(one.userId) - order.indexOf(other.userId),
    );
    if (next) {
      this.served.delete(next.userId);
      this.served.add(next.userId);
    }
    return next;
  }

  private async isFullListingShorter(): Promise<boolean> {
    const tags = new Set([...this.wanted].map(({ tag }) => tag)).size;
    if (tags < TAGS_WORTH_A_FULL_LISTING) return false;
    const [last] = await queryRows<{ listed: number }>(
      this.dataSource,
      'SELECT listed FROM completed_sweeps ORDER BY began_at DESC LIMIT 1',
    );
    // One more, because only an empty page is the end.
    return last !== undefined && Math.ceil(last.listed / PAGE_SIZE) + 1 < tags;
  }

  private take(isTaken: (one: WantedDate) => boolean): WantedDate[] {
    const taken = [...this.wanted].filter(isTaken);
    for (const one of taken) this.wanted.delete(one);
    return taken;
  }

  private async answerFrom(
    asked: readonly WantedDate[],
    list: () => Promise<ReadonlyMap<string, ListedProxy>>,
  ): Promise<void> {
    try {
      const listed = await list();
      const ends = new Map<number, Date>();
      for (const { orderId, providerProxyId } of asked) {
        const proxy = listed.get(providerProxyId);
        if (proxy) ends.set(orderId, proxy.dateEnd);
      }
      // In one statement, so that they are queued together and can become one batch.
      await this.claims.storeDateEnds(ends);
      for (const one of asked) one.resolve(ends.has(one.orderId) ? 'stored' : 'not-listed');
    } catch (error) {
      for (const one of asked) one.reject(error);
    }
  }

  /** @param asked all of the same tag */
  private async listPurchase(
    asked: readonly WantedDate[],
    permit: RatePermit,
  ): Promise<Map<string, ListedProxy>> {
    const [first] = asked;
    if (!first) return new Map();
    const listed = await this.calls.record(first.orderId, (onCall) =>
      this.provider.proxiesByTag(first.tag, {
        permit,
        onCall,
        isEnough: hasAll(asked),
        priority: 'order',
      }),
    );
    return new Map(listed.map((proxy) => [proxy.id, proxy]));
  }

  /**
   * A full listing is not a snapshot: a proxy that is missing from it is listed by its tag before it counts
   * as gone.
   */
  private async listEverything(
    asked: readonly WantedDate[],
    permit: RatePermit,
  ): Promise<Map<string, ListedProxy>> {
    const found = new Map<string, ListedProxy>();
    const missing = new Map(asked.map((one) => [one.providerProxyId, one]));
    for await (const page of this.provider.allProxies({ permit, priority: 'order' })) {
      for (const proxy of page) if (missing.delete(proxy.id)) found.set(proxy.id, proxy);
      if (missing.size === 0) return found;
    }
    for (const one of missing.values()) {
      const next = await this.provider.waitForPermit('order', this.config.purchases.waitMs);
      for (const [id, proxy] of await this.listPurchase([one], next)) found.set(id, proxy);
    }
    return found;
  }
}

const origins = (asked: readonly WantedDate[]): Origin[] => asked.map((one) => one.origin);
const orderIds = (asked: readonly WantedDate[]) => ({ 'order.ids': asked.map(({ orderId }) => orderId) });
