import { type IpVersion, MAX_ORDER_SIZE, type ProxyType } from '../common';
import type { Deadline } from './deadline';
import { type ProviderError, ProviderOutcomeUnknown } from './provider-errors';

/**
 * The port to a provider that sells proxies.
 *
 * Every method that calls the provider throws only a `ProviderError`. Reads wait for their own rate permit
 * and may be retried. A method that costs money requires a permit, and sends its call at most once.
 *
 * Amounts are roubles as decimal strings of any precision, periods are days, country codes are in lower case.
 */
export abstract class ProxyProvider {
  /** The provider's name, stored with each order and proxy. */
  abstract readonly name: string;

  /** Lists the countries on sale, in the provider's order. */
  abstract countries(version: IpVersion, options?: ReadOptions): Promise<string[]>;

  abstract stock(country: string, version: IpVersion, options?: ReadOptions): Promise<number>;

  /** Lists the prices of a single proxy. Other periods may be on sale: see `totalPrice`. */
  abstract priceTable(options?: ReadOptions): Promise<PriceTable>;

  /** Quotes the total price of this number of proxies for this period. */
  abstract totalPrice(
    offer: { count: number; period: number; version: IpVersion },
    options?: ReadOptions,
  ): Promise<string>;

  /**
   * Lists all proxies bought under an order reference, including expired ones. @throws ListingIncomplete if
   * the list is not proven complete and does not satisfy `isEnough`
   */
  abstract proxiesByReference(orderReference: string, options?: ListingOptions): Promise<ListedProxy[]>;

  /**
   * Lists all proxies of our account, including expired ones. The listing is not a snapshot: a proxy that
   * changes during the listing may be listed twice or not at all.
   */
  abstract allProxies(options?: Pick<ReadOptions, 'priority' | 'permit'>): AsyncIterable<ListedPage>;

  /**
   * Checks without waiting whether an order could be sent, before money is reserved for it.
   * @throws ProviderClosed if a circuit breaker is open, or the known balance does not cover the cost
   * `quoted`
   */
  abstract assertTakesOrders(quoted?: string): void;

  /**
   * Whether the known balance covers a cost, checked right before the order is sent. If this replica's
   * balance is too low, other replicas' balances are checked. If they are also too low, returns false and
   * starts a balance read in the background. Never rejects.
   */
  abstract affords(cost: string): Promise<boolean>;

  /**
   * Waits for a permit for one call. Calls that cost money need a permit beforehand, because an order that
   * waits must not count as possibly bought. @throws ProviderUnavailable if there is no permit in time
   */
  abstract waitForPermit(priority: CallPriority, maxWaitMs: number): Promise<RatePermit>;

  /** Buys proxies. Costs money each time it is called. */
  abstract buy(purchase: ProviderPurchaseRequest, options: MoneyCallOptions): Promise<ProviderPurchase>;

  /** Prolongs proxies by `period`. Costs money each time it is called. */
  abstract prolong(
    prolongation: { proxyIds: readonly string[]; period: number },
    options: MoneyCallOptions,
  ): Promise<ProviderProlongation>;

  /**
   * Changes the protocol of a proxy, free of charge. The call may be retried. If the proxy already has this
   * protocol, nothing changes, but the outcome may be unknown.
   */
  abstract setType(
    change: { proxyId: string; proxyType: ProxyType },
    options?: Pick<ReadOptions, 'priority' | 'deadline'>,
  ): Promise<void>;

  /** Returns whether a proxy works, according to the provider's own check. */
  abstract checkProxy(proxyId: string, options?: ReadOptions): Promise<boolean>;

  /**
   * Deletes a proxy permanently, without a refund. The call may be retried: a refusal `not-found` confirms
   * the deletion. Only `src/proxy-refunds/proxy-deletions.ts` calls this, for refunded proxies.
   */
  abstract deleteProxy(proxyId: string, options?: ReadOptions): Promise<void>;

  /** Returns the maximum total cost of orders; `null` before the first response. Never shown to customers. */
  abstract spendable(): string | null;

  /** @throws ProviderError */
  abstract readBalance(): Promise<string | null>;

  abstract status(): ProviderStatus;

  /** Switches to a new API key if the key's file contains one. Never rejects. */
  abstract followKey(): Promise<void>;

  /** Stops the circuit breakers' probes. Waiting calls fail. */
  abstract stop(): void;
}

/**
 * Priorities of waiting calls, highest first. `confirmation`: reads on which orders depend (outcome, stock,
 * balance). `exact`: exact prices and type changes, which customers can request without limit. `spare`: calls
 * for orders that cannot be paid, which leave one permit of each window free.
 */
export const CALL_PRIORITIES = ['order', 'confirmation', 'price', 'rest', 'exact', 'spare'] as const;
export type CallPriority = (typeof CALL_PRIORITIES)[number];

/** Permission to make one call within the rate limit that all replicas share. It expires soon. */
export interface RatePermit {
  readonly until: Deadline;
  /** Returns an unused permit for use by another call. Never rejects. */
  giveBack(): Promise<void>;
}

export interface CallOptions {
  /** The moment after which nothing is sent or awaited. Defaults to the configured call timeout. */
  readonly deadline?: Deadline;
  /** Receives a record of each call, successful or not. */
  readonly onCall?: (call: ProviderCallRecord) => void;
}

export interface ReadOptions extends CallOptions {
  /** Defaults to `rest`. */
  readonly priority?: CallPriority;
  /** The caller's permit. Without it, the read waits for its own permit. */
  readonly permit?: RatePermit;
}

export interface ListingOptions extends ReadOptions {
  /** Returns whether these proxies are enough, which ends the listing. `unread` counts unreadable rows. */
  readonly isEnough?: (listed: readonly ListedProxy[], unread: number) => boolean;
}

export interface MoneyCallOptions extends CallOptions {
  /** The permit for the call. If it expires before anything is sent, the call waits for another one. */
  readonly permit: RatePermit;
  /** The expected cost. A refusal for lack of funds shows that our balance is below this amount. */
  readonly quoted: string;
}

/** The record of a call for storage. It contains no API key, login or password. */
export interface ProviderCallRecord {
  readonly method: string;
  readonly request: Readonly<Record<string, string>>;
  readonly outcome: 'done' | ProviderError['outcome'];
  /** `null` if there was no response. */
  readonly httpStatus: number | null;
  /** The JSON of the response, or the reason why there is none. */
  readonly response: unknown;
  readonly durationMs: number;
}

export type PriceTable = ReadonlyMap<IpVersion, ReadonlyMap<number, string>>;

export interface ProviderPurchaseRequest {
  /** The order reference, unique to this purchase. `proxiesByReference` searches for it. */
  readonly orderReference: string;
  readonly country: string;
  readonly version: IpVersion;
  readonly period: number;
  readonly count: number;
  readonly proxyType: ProxyType;
}

export interface ProviderPurchase {
  readonly providerOrderId: string | null;
  /** The amount that the provider charged. */
  readonly charge: string;
  /** The delivered proxies: at least one, at most the ordered count. */
  readonly proxies: readonly ProviderProxy[];
}

export interface ProviderProlongation {
  readonly providerOrderId: string | null;
  /** The amount that the provider charged. */
  readonly charge: string;
  /** New expiry of each prolonged proxy, by the provider's proxy id. */
  readonly dateEnds: ReadonlyMap<string, Date>;
}

export interface ProviderProxy {
  /** The provider's proxy id. */
  readonly id: string;
  readonly host: string;
  readonly port: string;
  readonly login: string;
  readonly password: string;
  /** `ProxyType`; `auto` for both protocols on one port; other values leave the stored type unchanged. */
  readonly type: string;
  readonly dateStart: Date;
  readonly dateEnd: Date;
}

export interface ListedProxy extends ProviderProxy {
  /** The order reference of the purchase; empty if there was none. */
  readonly orderReference: string;
  readonly country: string | null;
  readonly version: IpVersion | null;
}

/** A row that cannot be read. It may be malformed, or unrelated to this service. */
export interface UnreadRow {
  /** `null` if unreadable. */
  readonly id: string | null;
  /** Empty if the row contains none; `null` if unreadable. */
  readonly orderReference: string | null;
  /** Names of the unreadable fields. */
  readonly fields: readonly string[];
}

export interface ListedPage {
  readonly proxies: readonly ListedProxy[];
  readonly unread: readonly UnreadRow[];
}

/**
 * Maximum numbers of proxies in one call: one page of a listing confirms a purchase, and every server accepts
 * a URL with this many prolonged proxies.
 */
export const PROXIES_PER_CALL = { purchase: MAX_ORDER_SIZE, prolongation: 200 } as const;

/** Thrown when a listing may lack proxies: some rows are unreadable or belong to another order reference. */
export class ListingIncomplete extends ProviderOutcomeUnknown {
  constructor(readonly found: readonly ListedProxy[]) {
    super('the listing may lack proxies: some of its rows cannot be read, or have another order reference');
  }
}

export interface BreakerStatus {
  /** `money` and `reads` stop calls. `funds`, which opens if our balance did not cover a call, does not. */
  readonly name: 'money' | 'reads' | 'funds';
  readonly state: 'closed' | 'open' | 'half-open';
  readonly since: Date;
}

/** The provider's state as this process knows it, for staff. */
export interface ProviderStatus {
  readonly breakers: readonly BreakerStatus[];
  /** Number of this process's calls waiting for a permit, by priority. */
  readonly waitingCalls: Readonly<Record<CallPriority, number>>;
}
