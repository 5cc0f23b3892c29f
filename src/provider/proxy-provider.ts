import type { IpVersion, ProxyType } from '../common';
import type { Deadline } from './deadline';
import { type ProviderError, ProviderOutcomeUnknown } from './provider-errors';

/**
 * The port to a provider that sells proxies.
 *
 * If there is no usable response, every method that calls the provider throws one of the three kinds of
 * ProviderError (`provider-errors.ts`), and nothing else. Reads wait for their own rate permit and may be
 * retried. A method that costs money requires a permit, and sends its call at most once.
 *
 * Amounts are roubles as decimal strings of any precision, periods are days, country codes are in lower case.
 */
export abstract class ProxyProvider {
  /** The provider's name, stored with each order and proxy. */
  abstract readonly name: string;

  /** Lists the countries on sale, in the provider's order. */
  abstract countries(version: IpVersion, options?: ReadOptions): Promise<string[]>;

  /** Counts the proxies in stock. */
  abstract stock(country: string, version: IpVersion, options?: ReadOptions): Promise<number>;

  /** Lists the prices of a single proxy. Periods that are missing may still be on sale: see `totalPrice`. */
  abstract priceTable(options?: ReadOptions): Promise<PriceTable>;

  /** Quotes the total price of exactly this many proxies for this period. */
  abstract totalPrice(
    offer: { count: number; period: number; version: IpVersion },
    options?: ReadOptions,
  ): Promise<string>;

  /**
   * Lists all proxies that were bought under an order reference, including expired ones. It returns a list
   * that is complete or satisfies `isEnough`, or throws, so that callers never have to guess whether proxies
   * are missing.
   *
   * @throws ListingIncomplete if the pages do not prove that the list is complete
   */
  abstract proxiesByReference(orderReference: string, options?: ListingOptions): Promise<ListedProxy[]>;

  /**
   * Lists all proxies of our account, including expired ones, page by page. The listing is not a snapshot: a
   * proxy that changes or moves in the meantime may be listed twice or not at all.
   */
  abstract allProxies(options?: Pick<ReadOptions, 'priority' | 'permit'>): AsyncIterable<ListedPage>;

  /**
   * Checks without waiting whether an order could be sent, before money is reserved for the order.
   *
   * @param quoted the order's cost at the provider
   * @throws ProviderClosed if a circuit breaker is open, or the known balance does not cover `quoted`
   */
  abstract assertTakesOrders(quoted?: string): void;

  /**
   * Whether the known balance covers a cost. Call it right before the order is sent. If its own balance is
   * too low, it checks the balance from other replicas. If that is too low as well, it starts a balance read
   * in the background and returns false. Never rejects.
   */
  abstract affords(cost: string): Promise<boolean>;

  /**
   * Waits for permission to make one call. Calls that cost money do not wait themselves, because a waiting
   * order must not count as possibly bought.
   *
   * @throws ProviderUnavailable if there is no permit in time
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
   * Changes the protocol of a proxy. It costs nothing and may be retried. Setting the current protocol
   * changes nothing, although the outcome may be reported as unknown.
   */
  abstract setType(
    change: { proxyId: string; proxyType: ProxyType },
    options?: Pick<ReadOptions, 'priority' | 'deadline'>,
  ): Promise<void>;

  /** Checks whether a proxy works, with the provider's own check. */
  abstract checkProxy(proxyId: string, options?: ReadOptions): Promise<boolean>;

  /**
   * Deletes a proxy permanently, without a refund. It may be retried: `ProviderRefused` with `not-found`
   * shows that the provider no longer has the proxy. We delete only refunded proxies:
   * `src/proxy-refunds/deletions.ts`.
   */
  abstract deleteProxy(proxyId: string, options?: ReadOptions): Promise<void>;

  /**
   * Returns the known limit for the total cost of orders: our balance, or a refused cost if that is less.
   * `null` before the first response. Never shown to customers.
   */
  abstract spendable(): string | null;

  /**
   * Reads our balance from the provider.
   *
   * @throws ProviderError
   */
  abstract readBalance(): Promise<string | null>;

  abstract status(): ProviderStatus;

  /** Switches to a new API key if the key's file contains one. Never rejects. */
  abstract followKey(): Promise<void>;

  /** Stops the circuit breakers' probes and ends the waits of all calls, which then fail. */
  abstract stop(): void;
}

/**
 * Priorities of waiting calls, the highest first: orders; calls that decide about orders (their outcome, or
 * stock or balance that was too low); the price table; the rest; exact prices and type changes, which
 * customers can request without limit; and `spare` calls, for orders that cannot be paid, which leave one
 * permit of each window to other calls. A call that many others have overtaken goes first.
 */
export const CALL_PRIORITIES = ['order', 'confirmation', 'price', 'rest', 'exact', 'spare'] as const;
export type CallPriority = (typeof CALL_PRIORITIES)[number];

/**
 * Permission to make one call within the provider's rate limit, which all replicas share. It expires soon.
 */
export interface RatePermit {
  readonly until: Deadline;
  /** Returns the permit for use by another call, if nothing was sent. Never rejects. */
  giveBack(): Promise<void>;
}

export interface CallOptions {
  /**
   * The moment after which nothing is sent and no response is awaited. Defaults to the configured timeout of
   * a call.
   */
  readonly deadline?: Deadline;
  /** Receives a record of each call, successful or not. */
  readonly onCall?: (call: ProviderCallRecord) => void;
}

export interface ReadOptions extends CallOptions {
  /** Defaults to `rest`. */
  readonly priority?: CallPriority;
  /** A permit that the caller already has; without it, the read waits for its own permit. */
  readonly permit?: RatePermit;
}

export interface ListingOptions extends ReadOptions {
  /**
   * Returns whether the proxies found are enough, so that no further page is read. By default it is always
   * false.
   *
   * @param unread number of rows under the order reference that cannot be read
   */
  readonly isEnough?: (listed: readonly ListedProxy[], unread: number) => boolean;
}

export interface MoneyCallOptions extends CallOptions {
  /** If the permit expires before anything was sent, the call waits for another permit. */
  readonly permit: RatePermit;
  /**
   * The expected cost. After a refusal for lack of funds, orders of this cost or more are refused until the
   * balance covers it.
   */
  readonly quoted: string;
}

/** The record of a call for storage. It contains no API key, login or password. */
export interface ProviderCallRecord {
  readonly method: string;
  readonly request: Readonly<Record<string, string>>;
  readonly outcome: 'done' | ProviderError['outcome'];
  /** `null` if there was no response. */
  readonly httpStatus: number | null;
  /** The JSON of the response, or the reason why there is no response. */
  readonly response: unknown;
  readonly durationMs: number;
}

/** Prices of a single proxy, by version and period. */
export type PriceTable = ReadonlyMap<IpVersion, ReadonlyMap<number, string>>;

export interface ProviderPurchaseRequest {
  /**
   * The order reference, unique to this purchase. The provider stores it with each proxy, and
   * `proxiesByReference` finds the proxies by it.
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
  /** The delivered proxies: at least one, and at most as many as ordered. A short delivery contains fewer. */
  readonly proxies: readonly ProviderProxy[];
}

export interface ProviderProlongation {
  readonly providerOrderId: string | null;
  /** The amount that the provider charged. */
  readonly charge: string;
  /** The new end of each prolonged proxy, by the provider's proxy id. */
  readonly dateEnds: ReadonlyMap<string, Date>;
}

/** A proxy as the provider describes it. */
export interface ProviderProxy {
  /** The provider's proxy id. */
  readonly id: string;
  readonly host: string;
  readonly port: string;
  readonly login: string;
  readonly password: string;
  /** A `ProxyType`; `auto` for both protocols on one port; or another word, which changes no stored type. */
  readonly type: string;
  readonly dateStart: Date;
  readonly dateEnd: Date;
}

export interface ListedProxy extends ProviderProxy {
  /** The order reference under which the proxy was bought; empty if it was bought without one. */
  readonly orderReference: string;
  readonly country: string | null;
  readonly version: IpVersion | null;
}

/** A row that cannot be read: unrelated to us, or malformed. */
export interface UnreadRow {
  /** `null` if the id cannot be read. */
  readonly id: string | null;
  /** Empty if the row contains none; `null` if it cannot be read. */
  readonly orderReference: string | null;
  /** The names of the fields that cannot be read. */
  readonly fields: readonly string[];
}

export interface ListedPage {
  readonly proxies: readonly ListedProxy[];
  readonly unread: readonly UnreadRow[];
}

/**
 * Thrown when a listing may lack proxies: some rows cannot be read, or belong to another order reference.
 * `found` contains the proxies that it does show.
 */
export class ListingIncomplete extends ProviderOutcomeUnknown {
  constructor(readonly found: readonly ListedProxy[]) {
    super('getproxy may lack proxies: some of its rows cannot be read, or have another order reference');
  }
}

export interface BreakerStatus {
  /**
   * `money` and `reads` open after failures of such calls. `funds` opens if our balance did not cover a call,
   * and stops no calls.
   */
  readonly name: 'money' | 'reads' | 'funds';
  readonly state: 'closed' | 'open' | 'half-open';
  readonly since: Date;
}

/** The provider's state as this process knows it, for staff. */
export interface ProviderStatus {
  readonly breakers: readonly BreakerStatus[];
  /** Numbers of calls of this process that wait for a permit. */
  readonly waitingCalls: Readonly<Record<CallPriority, number>>;
}
