import { compareDecimals, type IpVersion, type ProxyType, subtractDecimals } from '../common';
import type { OrderKind } from './order-states';

export interface BatchMember {
  readonly id: number;
  readonly userId: number;
  readonly count: number;
  readonly placedAt: Date;
  readonly isRenewal: boolean;
  /** The provider's quote in roubles, as a decimal string. */
  readonly cost: string;
  /** The provider's id of the prolonged proxy; `null` for a purchase. */
  readonly providerProxyId: string | null;
  readonly purchaseReference: string | null;
  /** The rental's expiry just before the prolongation; `null` for a purchase. */
  readonly dateEndBefore: Date | null;
}

/**
 * Orders that share one provider call. `id` and `orderReference` are those of the first order, the leader.
 */
export interface OrderBatch {
  readonly id: number;
  readonly kind: OrderKind;
  readonly orderReference: string;
  readonly country: string;
  readonly version: IpVersion;
  readonly period: number;
  readonly proxyType: ProxyType;
  readonly submittedAt: Date;
  /** Whether this is the second call for these members. There is no third. */
  readonly resent: boolean;
  /** The latest time at which the call could have been sent. */
  readonly sentBefore: Date;
  /** The provider's quote in roubles for all members, as a decimal string with four decimal places. */
  readonly providerPrice: string;
  /** The open members, in order of arrival. */
  readonly members: readonly BatchMember[];
}

export const batchSize = (batch: OrderBatch): number =>
  batch.members.reduce((size, { count }) => size + count, 0);

export const listsWholePurchase =
  (batch: OrderBatch) =>
  (listed: readonly unknown[], unread: number): boolean =>
    unread === 0 && listed.length >= batchSize(batch);

export const memberIds = (batch: OrderBatch): number[] => batch.members.map(({ id }) => id);

/**
 * Chooses members that fit into the capacity: first each user's first order, in order of arrival, then each
 * user's second, and so on. An order that does not fit is skipped, so that it does not block smaller ones.
 * @param capacity number of proxies, or roubles, as a decimal string
 */
export function chooseInTurn(
  batch: OrderBatch,
  capacity: string,
  sizeOfMember: (member: BatchMember) => string,
): BatchMember[] {
  const turns = new Map<number, number>();
  const queue = batch.members.map((member) => {
    const turn = (turns.get(member.userId) ?? 0) + 1;
    turns.set(member.userId, turn);
    return { member, turn };
  });
  // The sort is stable, so orders with the same turn stay in order of arrival.
  queue.sort((one, other) => one.turn - other.turn);
  let left = capacity;
  return queue.flatMap(({ member }) => {
    const size = sizeOfMember(member);
    if (compareDecimals(left, size) < 0) return [];
    left = subtractDecimals(left, size);
    return [member];
  });
}

export const batchName = (batch: OrderBatch): string =>
  batch.members.length === 1 ? `order ${memberIds(batch)[0]}` : `orders ${memberIds(batch).join(', ')}`;

export const listsAllProlongations =
  (members: readonly Pick<BatchMember, 'providerProxyId'>[]) =>
  (listed: readonly { readonly id: string }[]): boolean => {
    const ids = new Set(listed.map(({ id }) => id));
    return members.every(({ providerProxyId }) => providerProxyId !== null && ids.has(providerProxyId));
  };

/** The provider lists a proxy under the order reference of its purchase. */
export function membersByPurchase(batch: OrderBatch): Map<string, BatchMember[]> {
  const byReference = new Map<string, BatchMember[]>();
  for (const member of batch.members) {
    if (member.purchaseReference === null) throw new Error(`order ${member.id} is not a prolongation`);
    byReference.set(member.purchaseReference, [...(byReference.get(member.purchaseReference) ?? []), member]);
  }
  return byReference;
}
