import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { ServiceUnavailable } from '../../common';
import { refusedBy } from '../../database';
import { type ListedProxy, type ListingOptions, ProviderError, ProxyProvider } from '../../provider';
import { listsAllProlongations, membersByPurchase, type OrderBatch } from '../order-batch';
import type { OrderOutcome } from '../order-outcome';
import { OrderQueries } from '../order-queries';
import { NothingToDeliver, OrderNotFound, OrderNotInReview, PROXY_OF_ANOTHER } from '../orders.errors';
import { ProviderCallLog } from '../provider-call-log';
import { OrderCancellations } from '../transitions/order-cancellations';
import { Settlement } from '../transitions/settlement';

type Settle = (manager: EntityManager) => Promise<OrderOutcome[]>;

@Injectable()
export class ReviewService {
  constructor(
    private readonly settlement: Settlement,
    private readonly cancellations: OrderCancellations,
    private readonly queries: OrderQueries,
    private readonly provider: ProxyProvider,
    private readonly calls: ProviderCallLog,
  ) {}

  /**
   * Searches at the provider. Must not be called inside a transaction.
   * @returns a function that delivers and charges the order, or throws OrderNotInReview or
   * ProxyBelongsToAnother
   * @throws OrderNotFound, OrderNotInReview, NothingToDeliver, ServiceUnavailable
   */
  async findDelivery(orderId: number): Promise<(manager: EntityManager) => Promise<void>> {
    const order = await this.queries.find(orderId);
    if (!order) throw new OrderNotFound();
    const batch =
      order.state === 'review' && order.batchId ? await this.queries.findBatch(order.batchId) : null;
    const members = batch?.members.filter(({ id }) => id === orderId) ?? [];
    if (!batch || members.length === 0) throw new OrderNotInReview();
    const alone = { ...batch, members };
    const deliver = await (order.kind === 'purchase'
      ? this.findPurchase(orderId, alone)
      : this.findProlongation(orderId, alone));
    return async (manager) => {
      const closed = await deliver(manager);
      if (!closed.some(({ id }) => id === orderId)) throw new OrderNotInReview();
    };
  }

  /**
   * If the provider did deliver, the next sweep reports the proxies as unmatched. @throws OrderNotInReview
   */
  async cancel(orderId: number, manager: EntityManager): Promise<void> {
    const canceled = await this.cancellations.cancelOrders([orderId], 'staff', ['review'], manager);
    if (canceled.length === 0) throw new OrderNotInReview();
  }

  private async findPurchase(orderId: number, batch: OrderBatch): Promise<Settle> {
    const listed = await this.listForStaff(batch.orderReference, batch);
    const ids = listed.map(({ id }) => id);
    const owned = await this.queries.findOwnedProxyIds(this.provider.name, ids);
    const proxies = listed.filter(({ id }) => !owned.has(id));
    if (proxies.length === 0) throw new NothingToDeliver();
    return (manager) =>
      refusedBy(PROXY_OF_ANOTHER, () =>
        this.settlement.deliverPurchases(batch.id, { proxies }, { only: [orderId], queryable: manager }),
      );
  }

  private async findProlongation(orderId: number, batch: OrderBatch): Promise<Settle> {
    for (const [reference, [member]] of membersByPurchase(batch)) {
      const listed = await this.listForStaff(reference, batch, listsAllProlongations(batch.members));
      const proxy = listed.find(({ id }) => id === member?.providerProxyId);
      if (proxy && member?.dateEndBefore && proxy.dateEnd > member.dateEndBefore) {
        const ends = [{ orderId, dateEnd: proxy.dateEnd }];
        return (manager) => this.settlement.deliverProlongations({ ends }, { queryable: manager });
      }
    }
    throw new NothingToDeliver();
  }

  private async listForStaff(
    reference: string,
    batch: OrderBatch,
    isEnough?: ListingOptions['isEnough'],
  ): Promise<ListedProxy[]> {
    try {
      return await this.calls.record(batch.id, (onCall) =>
        this.provider.proxiesByReference(reference, { onCall, ...(isEnough && { isEnough }) }),
      );
    } catch (error) {
      if (error instanceof ProviderError) throw new ServiceUnavailable();
      throw error;
    }
  }
}
