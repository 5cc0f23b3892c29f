import type { IpVersion, ProxyType } from '../common';
import type { OrderKind } from './order-states';

/** An order in a batch. */
export interface BatchMember {
  readonly id: number;
  readonly count: number;
  /** Of a prolongation: the provider's id of the proxy, and the tag under which the provider lists it. */
  readonly providerProxyId: string | null;
  readonly purchaseTag: string | null;
  /** Of a prolongation: the end of the proxy's rental right before the call. */
  readonly dateEndBefore: Date | null;
}

/**
 * Orders of the same kind that go to the provider in one call. A batch has the id of its leader, its first
 * order, and a batch of purchases carries the leader's tag. Each member keeps its own state, charge and
 * answer. An order that is sent alone is a batch of one.
 */
export interface OrderBatch {
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
  /** What the provider quoted for all members: roubles, a decimal string with four decimals. */
  readonly providerPrice: string;
  /** The members that are open, in order of arrival. */
  readonly members: readonly BatchMember[];
}

/** How many proxies a batch asks for. */
export const sizeOf = (batch: OrderBatch): number =>
  batch.members.reduce((size, { count }) => size + count, 0);

export const memberIds = (batch: OrderBatch): number[] => batch.members.map(({ id }) => id);

/** Names a batch in log lines. */
export const nameOf = (batch: OrderBatch): string =>
  batch.members.length === 1 ? `order ${memberIds(batch)[0]}` : `orders ${memberIds(batch).join(', ')}`;

/**
 * The members of a batch of prolongations by the tag of their purchase: proxies that were bought together are
 * listed together.
 */
export function membersByPurchase(batch: OrderBatch): Map<string, BatchMember[]> {
  const byTag = new Map<string, BatchMember[]>();
  for (const member of batch.members) {
    if (member.purchaseTag === null) throw new Error(`order ${member.id} is not a prolongation`);
    byTag.set(member.purchaseTag, [...(byTag.get(member.purchaseTag) ?? []), member]);
  }
  return byTag;
}
