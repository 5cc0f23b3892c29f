import { Injectable, Logger } from '@nestjs/common';
import { messageOf } from '../../common';
import { AppConfig } from '../../config';
import type { Claimed } from '../../jobs';
import {
  type ListedProxy,
  ListingIncomplete,
  ProviderRefused,
  ProxyProvider,
  type RatePermit,
} from '../../provider';
import { inSharedSpan, captureOrigin } from '../../tracing';
import { listsAllProlongations } from '../order-batch';
import type { OrderFailure } from '../order-states';
import { ProviderCallLog } from '../provider-call-log';
import { EndReadClaims, type EndToRead, type StoredEnd } from '../transitions/end-read-claims';
import { OrderCancellations } from '../transitions/order-cancellations';
import { OrderWaiters } from './order-waiters';

/** The provider's maximum page size. */
const PAGE_SIZE = 1000;
const PURCHASES_WORTH_A_FULL_LISTING = 3;

interface Listing {
  readonly proxies: readonly ListedProxy[];
  /** How to handle missing proxies: list each alone, or cancel their orders with this failure. */
  readonly missing: 'listed-alone' | OrderFailure;
}

interface ClaimedEnds {
  readonly ends: readonly EndToRead[];
  readonly list: () => Promise<Listing>;
  readonly whenRead: () => void;
}

const orderIds = (ends: readonly { readonly orderId: number }[]): number[] =>
  ends.map(({ orderId }) => orderId);

/**
 * Reads a rental's expiry before its prolongation, unless a sweep has confirmed the expiry. Comparing it with
 * the expiry after the prolongation shows whether the prolongation succeeded.
 *
 * The listing must start after the claim, because an older one may miss an earlier prolongation. An order
 * whose rental's expiry cannot be read is canceled, because no call that costs money has been sent for it.
 */
@Injectable()
export class EndReader {
  private readonly logger = new Logger(EndReader.name);
  private readonly background = captureOrigin();

  constructor(
    private readonly readings: EndReadClaims,
    private readonly cancellations: OrderCancellations,
    private readonly waiters: OrderWaiters,
    private readonly provider: ProxyProvider,
    private readonly calls: ProviderCallLog,
    private readonly config: AppConfig,
  ) {}

  async claim(permit: RatePermit, whenRead: () => void): Promise<Claimed<() => Promise<void>>> {
    try {
      const purchases = await this.readings.countPurchases();
      const isAll = await this.isFullListingShorter(purchases);
      const ends = await this.readings.claim(isAll ? 'everything' : 'a purchase');
      if (ends.length === 0) {
        await permit.giveBack();
        return { rows: [], isMore: !isAll && purchases > 1 };
      }
      const list = () => (isAll ? this.listEverything(ends, permit) : this.listPurchase(ends, permit));
      return { rows: [() => this.read({ ends, list, whenRead })], isMore: true };
    } catch (error) {
      await permit.giveBack();
      throw error;
    }
  }

  private async isFullListingShorter(purchases: number): Promise<boolean> {
    if (purchases < PURCHASES_WORTH_A_FULL_LISTING) return false;
    const listed = await this.readings.lastListedCount();
    // A full listing needs one more call, which returns the empty page that ends it.
    return listed !== null && Math.ceil(listed / PAGE_SIZE) + 1 < purchases;
  }

  private read(claimed: ClaimedEnds): Promise<void> {
    const ids = orderIds(claimed.ends);
    const attributes = { 'order.ids': ids };
    return inSharedSpan('orders.read_ends', attributes, this.waiters.origins(ids), this.background, () =>
      this.listAndStore(claimed),
    );
  }

  private async listAndStore({ ends, list, whenRead }: ClaimedEnds): Promise<void> {
    try {
      const listing = await list();
      const listed = new Map(listing.proxies.map((proxy) => [proxy.id, proxy]));
      const found = ends.flatMap((end) => {
        const proxy = listed.get(end.providerProxyId);
        return proxy ? [{ ...end, dateEnd: proxy.dateEnd }] : [];
      });
      const stored = await this.readings.store(found);
      const those = (outcome: StoredEnd['outcome']) =>
        orderIds(stored.filter((end) => end.outcome === outcome));
      this.waiters.recordSent(those('possibly-bought'));
      whenRead();
      await this.cancel(those('not-needed'), 'unavailable');
      const missing = ends.filter(({ providerProxyId }) => !listed.has(providerProxyId));
      if (listing.missing === 'listed-alone') await this.listAlone(missing, whenRead);
      else await this.cancel(orderIds(missing), listing.missing);
    } catch (error) {
      this.logger.warn(`the ends of rentals could not be read: ${messageOf(error)}`);
      await this.cancel(orderIds(ends), error instanceof ProviderRefused ? error.reason : 'unavailable');
    }
  }

  private async cancel(ids: readonly number[], reason: OrderFailure): Promise<void> {
    try {
      await Promise.all(ids.map((orderId) => this.cancellations.leaveQueue({ orderId, reason })));
    } catch (error) {
      this.logger.error(`orders ${ids.join(', ')}: left to reconciliation: ${messageOf(error)}`);
    }
    await this.waiters.recordCanceled(ids);
  }

  /** @param ends must all belong to one purchase */
  private async listPurchase(ends: readonly EndToRead[], permit: RatePermit): Promise<Listing> {
    const [first] = ends;
    if (!first) return { proxies: [], missing: 'not-found' };
    const { orderId, reference } = first;
    const isEnough = listsAllProlongations(ends);
    try {
      const proxies = await this.calls.record(orderId, (onCall) =>
        this.provider.proxiesByReference(reference, { permit, onCall, isEnough, priority: 'order' }),
      );
      return { proxies, missing: 'not-found' };
    } catch (error) {
      if (error instanceof ListingIncomplete) return { proxies: error.found, missing: 'unavailable' };
      throw error;
    }
  }

  private async listEverything(ends: readonly EndToRead[], permit: RatePermit): Promise<Listing> {
    const proxies: ListedProxy[] = [];
    const missing = new Set(ends.map(({ providerProxyId }) => providerProxyId));
    for await (const page of this.provider.allProxies({ permit, priority: 'order' })) {
      proxies.push(...page.proxies.filter(({ id }) => missing.delete(id)));
      if (missing.size === 0) break;
    }
    return { proxies, missing: 'listed-alone' };
  }

  /**
   * Lists each missing proxy alone. A full listing is not a snapshot and may contain unreadable rows, so only
   * a listing by order reference proves that a proxy is gone.
   */
  private async listAlone(missing: readonly EndToRead[], whenRead: () => void): Promise<void> {
    for (const end of missing) {
      const list = async () =>
        this.listPurchase([end], await this.provider.waitForPermit('order', this.config.purchases.waitMs));
      await this.listAndStore({ ends: [end], list, whenRead });
    }
  }
}
