import type { IpVersion, ProxyType } from '../common';
import type { Deadline } from './deadline';
import { type ProviderError, ProviderOutcomeUnknown } from './provider-errors';

/**
 * The port to a provider that sells proxies.
 *
 * Every method that calls the provider throws a ProviderError of one of three kinds (`provider-errors.ts`)
 * when it has no usable response, and nothing else. Reads wait for their own rate permit and may be retried.
 * A method that costs money requires a permit, and sends its call at most once.
 *
 * Amounts are roubles as decimal strings of any precision, periods are days, country codes are in lower case.
 */
export abstract class ProxyProvider {
  /** Stored with each order and proxy. */
  abstract readonly name: string;

  /** Lists the countries on sale, in the provider's order. */
  abstract countries(version: IpVersion, options?: ReadOptions): Promise<string[]>;

  /** Counts the proxies in stock. */
  abstract stock(country: string, version: IpVersion, options?: ReadOptions): Promise<number>;

  /** Lists the prices of a single proxy. Missing ones may still be on sale: see `totalPrice`. */
  abstract priceTable(options?: ReadOptions): Promise<PriceTable>;

  /** Quotes the total price of exactly this many proxies for this period. */
  abstract totalPrice(
    offer: { count: number; period: number; version: IpVersion },
    options?: ReadOptions,
  ): Promise<string>;

  /**
   * Lists all proxies that were bought under an order reference, including expired ones. The list is complete
   * or has enough, or this is an error: no caller has to guess what a listing lacks.
   *
   * @throws ListingIncomplete when the pages do not show whether they are complete
   */
  abstract proxiesByReference(orderReference: string, options?: ListingOptions): Promise<ListedProxy[]>;

  /**
   * Lists all proxies of our account, including expired ones, page by page. It is not a snapshot: a proxy
   * that changes or moves in the meantime may be listed twice or not at all.
   */
  abstract allProxies(options?: Pick<ReadOptions, 'priority' | 'permit'>): AsyncIterable<ListedPage>;

  /**
   * Checks without waiting whether an order could be sent, before money is reserved for it.
   *
   * @param quoted the cost of the order at the provider
   * @throws ProviderClosed while a circuit breaker is open, or when the known balance does not cover `quoted`
   */
  abstract assertTakesOrders(quoted?: string): void;

  /**
   * Whether the known balance covers a cost, right before it is sent. Before it returns false, it checks the
   * balance of other replicas; false starts a read of the balance in the background. Never rejects.
   */
  abstract affords(cost: string): Promise<boolean>;

  /**
   * Waits for permission to make one call. Money calls do not wait: a waiting order must not count as
   * possibly bought.
   *
   * @throws ProviderUnavailable when there is no permit in time
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
   * Changes the protocol of a proxy. It costs nothing and may be retried: setting the current protocol
   * changes nothing, although its outcome may be reported as unknown.
   */
  abstract setType(
    change: { proxyId: string; proxyType: ProxyType },
    options?: Pick<ReadOptions, 'priority' | 'deadline'>,
  ): Promise<void>;

  /** Asks the provider whether a proxy works, by its own check. */
  abstract checkProxy(proxyId: string, options?: ReadOptions): Promise<boolean>;

  /**
   * Deletes a proxy for good, without a refund. It may be retried: `ProviderRefused` with `not-found` shows
   * that the provider no longer has it. Only refunded proxies are deleted: `src/proxy-refunds/deletions.ts`.
   */
  abstract deleteProxy(proxyId: string, options?: ReadOptions): Promise<void>;

  /**
   * The known limit of the cost of orders together: our balance, or a refused cost if less. `null` before the
   * first response. Never shown to customers.
   */
  abstract spendable(): string | null;

  /** Requests our balance from the provider. @throws ProviderError */
  abstract readBalance(): Promise<string | null>;

  abstract status(): ProviderStatus;

  /** Switches to a new key of the provider, if the key's file contains one. Never rejects. */
  abstract followKey(): Promise<void>;

  /** Ends the waits of all calls, which fail, and the probes of the circuit breakers. */
  abstract stop(): void;
}

/**
 * The order of waiting calls: orders, then calls that decide about orders (their outcome, a stock or balance
 * that was too small), then the table of prices, then the rest, then calls that customers can request without
 * limit: exact prices and changes of type. `spare` calls are for orders that cannot be paid: they leave one
 * permit of each window to others. A call that many others have overtaken goes first.
 */
export const CALL_PRIORITIES = ['order', 'confirmation', 'price', 'rest', 'exact', 'spare'] as const;
export type CallPriority = (typeof CALL_PRIORITIES)[number];

/**
 * Permission to make one call within the provider's rate limit, which all replicas share. It soon expires.
 */
export interface RatePermit {
  readonly until: Deadline;
  /** Returns the permit for another call, when nothing was sent. Never rejects. */
  giveBack(): Promise<void>;
}

export interface CallOptions {
  /**
   * Nothing is sent and no response is awaited after it. By default, the configured timeout of a call
   * applies.
   */
  readonly deadline?: Deadline;
  /** Receives a record of each call, successful or not. */
  readonly onCall?: (call: ProviderCallRecord) => void;
}

export interface ReadOptions extends CallOptions {
  /** By default `rest`. */
  readonly priority?: CallPriority;
  /** A permit that the caller already has. */
  readonly permit?: RatePermit;
}

export interface ListingOptions extends ReadOptions {
  /**
   * Whether the found proxies suffice, so that no further page is read. By default never.
   *
   * @param unread how many rows under the order reference cannot be read
   */
  readonly isEnough?: (listed: readonly ListedProxy[], unread: number) => boolean;
}

export interface MoneyCallOptions extends CallOptions {
  /** If it expires before anything was sent, the call waits for another one. */
  readonly permit: RatePermit;
  /**
   * The expected cost. After a refusal for lack of funds, orders that cost as much are refused until the
   * balance covers it.
   */
  readonly quoted: string;
}

/** The record of a call for storage: without API key, logins and passwords. */
export interface ProviderCallRecord {
  readonly method: string;
  readonly request: Readonly<Record<string, string>>;
  readonly outcome: 'done' | ProviderError['outcome'];
  /** `null` without a response. */
  readonly httpStatus: number | null;
  /** The JSON of the response, or the reason why there is none. */
  readonly response: unknown;
  readonly durationMs: number;
}

/** Prices of a single proxy, by version and period. */
export type PriceTable = ReadonlyMap<IpVersion, ReadonlyMap<number, string>>;

export interface ProviderPurchaseRequest {
  /**
   * Unique to this purchase. The provider keeps it with each proxy: `proxiesByReference` finds them by it.
   */
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
  /** Never empty and never more than ordered; fewer when the provider delivered short. */
  readonly proxies: readonly ProviderProxy[];
}

export interface ProviderProlongation {
  readonly providerOrderId: string | null;
  /** The amount that the provider charged. */
  readonly charge: string;
  /** The new end of each proxy that was prolonged, by the provider's id of the proxy. */
  readonly dateEnds: ReadonlyMap<string, Date>;
}

/** A proxy as the provider describes it. */
export interface ProviderProxy {
  /** The provider's id. */
  readonly id: string;
  readonly host: string;
  readonly port: string;
  readonly login: string;
  readonly password: string;
  /** A `ProxyType`, `auto` for both protocols on one port, or another word, which changes no stored type. */
  readonly type: string;
  readonly dateStart: Date;
  readonly dateEnd: Date;
}

export interface ListedProxy extends ProviderProxy {
  /** The order reference under which it was bought; empty when it was bought without one. */
  readonly orderReference: string;
  readonly country: string | null;
  readonly version: IpVersion | null;
}

/** A row that cannot be read: of somebody else, or odd. */
export interface UnreadRow {
  /** `null` when it cannot be read either. */
  readonly id: string | null;
  /** Empty when the row has none; `null` when it cannot be read. */
  readonly orderReference: string | null;
  /** The names of the fields that cannot be read. */
  readonly fields: readonly string[];
}

export interface ListedPage {
  readonly proxies: readonly ListedProxy[];
  readonly unread: readonly UnreadRow[];
}

/**
 * A listing shows these proxies, and may lack others: it has rows that cannot be read, or more than were
 * requested.
 */
export class ListingIncomplete extends ProviderOutcomeUnknown {
  constructor(readonly found: readonly ListedProxy[]) {
    super('getproxy may lack proxies: some of its rows cannot be read, or have another order reference');
  }
}

export interface BreakerStatus {
  /**
   * `money` and `reads` open when such calls fail, `funds` when our balance did not cover a call; it stops
   * none.
   */
  readonly name: 'money' | 'reads' | 'funds';
  readonly state: 'closed' | 'open' | 'half-open';
  readonly since: Date;
}

/** The state of the provider as known to this process, for staff. */
export interface ProviderStatus {
  readonly breakers: readonly BreakerStatus[];
  /** The calls of this process that wait for a permit. */
  readonly waitingCalls: Readonly<Record<CallPriority, number>>;
}
