import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { Money } from '../common';
import {
  IdempotencyKeyMissing,
  OrderTransitions,
  type OrphanRow,
  OrphansService,
  readIdempotency,
  RefundTooLarge,
  ReviewService,
} from '../orders';
import type { Act } from './act';
import { findOrder, type OrderRow } from './order-row';
import { StaffLog } from './staff-log';
import { type Posting, StaffPostings } from './staff-postings';

/** Roubles to give back of what an order has paid. */
export interface Refund {
  readonly orderId: number;
  /** Left out: all that is left. */
  readonly amount?: Money | null | undefined;
  readonly reason: string;
  readonly reference?: string | null | undefined;
}

export type OrderDecision = 'deliver' | 'refund';

/** What staff decide of orders, and of proxies that no order accounts for, over HTTP and on the command line. */
@Injectable()
export class StaffDecisionsService {
  constructor(
    private readonly review: ReviewService,
    private readonly transitions: OrderTransitions,
    private readonly orphans: OrphansService,
    private readonly postings: StaffPostings,
    private readonly log: StaffLog,
  ) {}

  /**
   * Ends an order in review: hands out what the provider has of it and charges for that, or gives the money back.
   *
   * @throws OrderNotFound, OrderNotInReview, NothingToDeliver, ProxyBelongsToAnother, ServiceUnavailable
   */
  async decide(act: Act, orderId: number, decision: OrderDecision, reason: string): Promise<OrderRow> {
    const found = decision === 'deliver' ? await this.review.findDelivery(orderId) : null;
    return this.log.change(act, async (manager, record) => {
      const before = await lockOrder(orderId, manager);
      if (found) await this.review.decideDelivery(found, manager);
      else await this.review.decideRefund(orderId, manager);
      const after = await lockOrder(orderId, manager);
      await record({ reason, before, after });
      return after;
    });
  }

  /**
   * Gives back of what an order has paid. The proxies stay with the user.
   *
   * @throws OrderNotFound, RefundTooLarge, IdempotencyKeyMissing, IdempotencyKeyInvalid, IdempotencyKeyReused
   */
  async refund(act: Act, refund: Refund, idempotencyKey: string | undefined): Promise<Posting> {
    const { orderId, amount, reason, reference = null } = refund;
    const asked = {
      direction: 'refund',
      orderId,
      amount: amount?.toString() ?? 'all',
      reason,
      reference: reference ?? '',
    };
    const idempotency = readIdempotency(idempotencyKey, asked);
    if (!idempotency) throw new IdempotencyKeyMissing();
    return this.postings.post(act, idempotency, async (manager, record) => {
      const before = await lockOrder(orderId, manager);
      const refunded = Money.parse(before.refunded);
      const left = Money.parse(before.captured).minus(refunded);
      const given = amount ?? left;
      if (!given.isPositive() || given.minus(left).isPositive()) throw new RefundTooLarge(left);
      const after = { ...before, refunded: refunded.plus(given).toString() };
      const actionId = await record({ reason, before, after });
      return this.transitions.refundCharge(orderId, given, { reason, reference, actionId }, manager);
    });
  }

  /**
   * Hands an orphan to the user of a closed purchase, free of charge.
   *
   * @throws OrphanNotFound, OrphanAssigned, OrderNotFound, OrphansGoToPurchases, ProxyBelongsToAnother
   */
  assignOrphan(act: Act, orphanId: number, orderId: number, reason: string): Promise<OrphanRow> {
    return this.log.change(act, async (manager, record) => {
      const before = await this.orphans.lockUndecided(orphanId, manager);
      const after = { ...before, state: 'assigned', order_id: orderId };
      const actionId = await record({ reason, before, after });
      await this.orphans.assign(orphanId, orderId, actionId, manager);
      return this.orphans.get(orphanId, manager);
    });
  }

  /** @throws OrphanNotFound, OrphanAssigned */
  markOrphan(act: Act, orphanId: number, state: 'open' | 'written-off', reason: string): Promise<OrphanRow> {
    return this.log.change(act, async (manager, record) => {
      const before = await this.orphans.lockUndecided(orphanId, manager);
      await this.orphans.mark(orphanId, state, manager);
      const after = await this.orphans.get(orphanId, manager);
      await record({ reason, before, after });
      return after;
    });
  }
}

/** Until the transaction ends nobody else changes it. @throws OrderNotFound */
async function lockOrder(orderId: number, manager: EntityManager): Promise<OrderRow> {
  await manager.query('SELECT FROM orders WHERE id = $1 FOR UPDATE', [orderId]);
  return findOrder(manager, orderId);
}
