import type { IpVersion, ProxyType } from '../common';
import type { OrderKind } from './order.entity';

/** An order in a group. */
export interface GroupedOrder {
  readonly id: number;
  readonly count: number;
  /** Of a prolongation: the proxy by the provider's number, and the tag that it was bought under. */
  readonly providerProxyId: string | null;
  readonly purchaseTag: string | null;
  readonly dateEndBefore: Date | null;
}

/**
 * Orders of the same kind that go to the provider in one call. A group has the number of the order that leads it, and a group of purchases
 * is known there by the leader's tag. Each order keeps its own state, charge and answer.
 */
export interface OrderGroup {
  readonly id: number;
  readonly kind: OrderKind;
  readonly tag: string;
  readonly country: string;
  readonly version: IpVersion;
  /** Days. */
  readonly period: number;
  readonly proxyType: ProxyType;
  readonly submittedAt: Date;
  /** The last moment at which the call can have gone out. */
  readonly deadline: Date;
  /** What the provider quoted for all of them, roubles. */
  readonly providerPrice: string;
  /** Those that are open, in order of arrival. */
  readonly orders: readonly GroupedOrder[];
}

/** How many proxies a group asks for. */
export const sizeOf = (group: OrderGroup): number =>
  group.orders.reduce((size, { count }) => size + count, 0);

export const idsOf = (group: OrderGroup): number[] => group.orders.map(({ id }) => id);

/** For log lines. */
export const nameOf = (group: OrderGroup): string =>
  group.orders.length === 1 ? `order ${idsOf(group)[0]}` : `orders ${idsOf(group).join(', ')}`;

/** Prolongations by the tag that their proxies were bought under, by which they are listed together. */
export function ordersByPurchase(group: OrderGroup): Map<string, GroupedOrder[]> {
  const byTag = new Map<string, GroupedOrder[]>();
  for (const order of group.orders) {
    if (order.purchaseTag === null) throw new Error(`order ${order.id} is no prolongation`);
    byTag.set(order.purchaseTag, [...(byTag.get(order.purchaseTag) ?? []), order]);
  }
  return byTag;
}
