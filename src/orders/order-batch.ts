import { compareDecimals, type IpVersion, type ProxyType, subtractDecimals } from '../common';
import type { OrderKind } from './order-states';

export interface BatchMember {
  readonly id: number;
  readonly userId: number;
  readonly count: number;
  readonly placedAt: Date;
  readonly isRenewal: boolean;
  /** The provider's quote for it: roubles, a decimal string. */
  readonly cost: string;
  /** For a prolongation: the provider's id of the proxy, and the reference under which it lists the proxy. */
  readonly providerProxyId: string | null;
  readonly purchaseReference: string | null;
  /** For a prolongation: the end of the proxy's rental right before the call. */
  readonly dateEndBefore: Date | null;
}

/**
 * Orders of the same kind that go to the provider in one call. A batch has the id of its leader, its first
 * order, and a batch of purchases carries the leader's reference. Each member keeps its own state, charge and
 * response. An order that is sent alone is a batch of one.
 */
export interface OrderBatch {
  readonly id: number;
  readonly kind: OrderKind;
  readonly orderReference: string;
  readonly country: string;
  readonly version: IpVersion;
  /** Days. */
  readonly period: number;
  readonly proxyType: ProxyType;
  readonly submittedAt: Date;
  /** Whether a batch with its members was refused before: they are not sent a third time. */
  readonly resent: boolean;
  /** The last moment at which the call can have been sent. */
  readonly deadline: Date;
  /** The provider's quote for all members: roubles, a decimal string with four decimals. */
  readonly providerPrice: string;
  /** The members that are open, in order of arrival. */
  readonly members: readonly BatchMember[];
}

/** How many proxies a batch orders. */
export const sizeOf = (batch: OrderBatch): number =>
  batch.members.reduce((size, { count }) => size + count, 0);

/** Whether a listing contains everything that a batch of purchases ordered, and no unreadable row. */
export const isWhole =
  (batch: OrderBatch) =>
  (listed: readonly unknown[], unread: number): boolean =>
    unread === 0 && listed.length >= sizeOf(batch);

export const memberIds = (batch: OrderBatch): number[] => batch.members.map(({ id }) => id);

/**
 * Chooses members one after the other, each if there is still room for it: the first order of each user in
 * order of arrival, then the second of each, and so on. A large order is skipped and blocks no small one.
 *
 * @param room proxies or roubles, a decimal string
 * @param sizeOfMember how much of it a member takes, a decimal string
 */
export function chooseInTurn(
  batch: OrderBatch,
  room: string,
  sizeOfMember: (member: BatchMember) => string,
): BatchMember[] {
  const turns = new Map<number, number>();
  const queue = batch.members.map((member) => {
    const turn = (turns.get(member.userId) ?? 0) + 1;
    turns.set(member.userId, turn);
    return { member, turn };
  });
  // The sort is stable: within a turn, the order of arrival remains.
  queue.sort((one, other) => one.turn - other.turn);
  let left = room;
  return queue.flatMap(({ member }) => {
    const size = sizeOfMember(member);
    if (compareDecimals(left, size) < 0) return [];
    left = subtractDecimals(left, size);
    return [member];
  });
}

/** Names a batch in log lines. */
export const nameOf = (batch: OrderBatch): string =>
  batch.members.length === 1 ? `order ${memberIds(batch)[0]}` : `orders ${memberIds(batch).join(', ')}`;

/** Whether a listing contains the proxies of all these prolongations. */
export const hasAll =
  (members: readonly Pick<BatchMember, 'providerProxyId'>[]) =>
  (listed: readonly { readonly id: string }[]): boolean => {
    const ids = new Set(listed.map(({ id }) => id));
    return members.every(({ providerProxyId }) => providerProxyId !== null && ids.has(providerProxyId));
  };

/**
 * The members of a batch of prolongations by the order reference of their purchase: proxies that were bought
 * together are listed together.
 */
export function membersByPurchase(batch: OrderBatch): Map<string, BatchMember[]> {
  const byReference = new Map<string, BatchMember[]>();
  for (const member of batch.members) {
    if (member.purchaseReference === null) throw new Error(`order ${member.id} is not a prolongation`);
    byReference.set(member.purchaseReference, [...(byReference.get(member.purchaseReference) ?? []), member]);
  }
  return byReference;
}
