import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource, type EntityManager } from 'typeorm';
import { ServiceUnavailable } from '../catalog';
import { queryRows, violatedConstraint } from '../database';
import { type ListedProxy, ProviderError, ProxyProvider } from '../provider';
import { type OrderGroup, ordersByPurchase } from './order-group';
import { OrderSettlement } from './order-settlement';
import { OrderSteps } from './order-steps';
import { NothingToDeliver, OrderNotFound, OrderNotInReview, ProxyBelongsToAnother } from './orders.errors';
import { ProviderCallLog } from './provider-call-log';

/** What the provider has of an order in review. */
export type FoundDelivery =
  | {
      readonly kind: 'purchase';
      readonly orderId: number;
      readonly groupId: number;
      /** Under the tag of its group, and of nobody yet. */
      readonly proxies: readonly ListedProxy[];
    }
  | { readonly kind: 'prolongation'; readonly orderId: number; readonly dateEnd: Date };

/** How orders in review end: by what staff decide. */
@Injectable()
export class ReviewService {
  constructor(
    @InjectDataSource() private readonly dataSource: DataSource,
    private readonly steps: OrderSteps,
    private readonly settlement: OrderSettlement,
    private readonly provider: ProxyProvider,
    private readonly calls: ProviderCallLog,
  ) {}

  /**
   * Looks at the provider. To be called outside a transaction.
   *
   * @throws OrderNotFound, OrderNotInReview, NothingToDeliver, ServiceUnavailable
   */
  async findDelivery(orderId: number): Promise<FoundDelivery> {
    const order = await this.steps.find(orderId);
    if (!order) throw new OrderNotFound();
    const group =
      order.state === 'review' && order.groupId ? await this.steps.findGroup(order.groupId) : null;
    const orders = group?.orders.filter(({ id }) => id === orderId) ?? [];
    if (!group || orders.length === 0) throw new OrderNotInReview();
    const alone = { ...group, orders };
    return order.kind === 'purchase'
      ? this.findPurchase(orderId, alone)
      : this.findProlongation(orderId, alone);
  }

  /** Hands out what was found, and charges for it. @throws OrderNotInReview, ProxyBelongsToAnother */
  async deliver(found: FoundDelivery, manager: EntityManager): Promise<void> {
    const { orderId } = found;
    const closed =
      found.kind === 'purchase'
        ? await this.deliverPurchase(found, manager)
        : await this.settlement.deliverProlongations(
            { ends: [{ orderId, dateEnd: found.dateEnd }], providerOrderId: null, charge: null },
            manager,
          );
    if (!closed.includes(orderId)) throw new OrderNotInReview();
  }

  /** Gives the money back. What the provider has of it all the same, the next sweep finds as orphans. @throws OrderNotInReview */
  async refund(orderId: number, manager: EntityManager): Promise<void> {
    const refunded = await this.settlement.refund([orderId], 'staff', ['review'], manager);
    if (refunded.length === 0) throw new OrderNotInReview();
  }

  private async findPurchase(orderId: number, group: OrderGroup): Promise<FoundDelivery> {
    const listed = await this.list(group, group.tag);
    const taken = await queryRows<{ id: string }>(
      this.dataSource,
      'SELECT provider_proxy_id AS id FROM proxies WHERE provider = $1 AND provider_proxy_id = ANY ($2)',
      [this.provider.name, listed.map(({ id }) => id)],
    );
    const takenIds = new Set(taken.map(({ id }) => id));
    const proxies = listed.filter(({ id }) => !takenIds.has(id));
    if (proxies.length === 0) throw new NothingToDeliver();
    return { kind: 'purchase', orderId, groupId: group.id, proxies };
  }

  private async findProlongation(orderId: number, group: OrderGroup): Promise<FoundDelivery> {
    for (const [tag, [order]] of ordersByPurchase(group)) {
      const listed = await this.list(group, tag);
      const proxy = listed.find(({ id }) => id === order?.providerProxyId);
      if (proxy && order?.dateEndBefore && proxy.dateEnd > order.dateEndBefore) {
        return { kind: 'prolongation', orderId, dateEnd: proxy.dateEnd };
      }
    }
    throw new NothingToDeliver();
  }

  private async list(group: OrderGroup, tag: string): Promise<ListedProxy[]> {
    try {
      return await this.calls.keep(group.id, (onCall) => this.provider.proxiesByTag(tag, { onCall }));
    } catch (error) {
      if (error instanceof ProviderError) throw new ServiceUnavailable();
      throw error;
    }
  }

  private async deliverPurchase(
    { orderId, groupId, proxies }: FoundDelivery & { kind: 'purchase' },
    manager: EntityManager,
  ): Promise<number[]> {
    try {
      return await this.settlement.deliver(
        groupId,
        { proxies, providerOrderId: null, charge: null },
        { only: [orderId], queryable: manager },
      );
    } catch (error) {
      if (violatedConstraint(error) === 'proxies_provider_proxy_id_key') throw new ProxyBelongsToAnother();
      throw error;
    }
  }
}
