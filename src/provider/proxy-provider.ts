import { type IpVersion, MAX_ORDER_SIZE, type ProxyType } from '../common';
import type { Deadline } from './deadline';
import { type ProviderError, ProviderOutcomeUnknown } from './provider-errors';

/**
 * Methods that call the provider throw only a `ProviderError`. Reads wait for their own rate permit and may
 * be retried. A method that costs money requires a permit, and sends its call at most once.
 *
 * Amounts are roubles as decimal strings of any precision, periods are days, country codes are lower-case.
 */
export abstract class ProxyProvider {
  /** Stored with each order and proxy. */
  abstract readonly name: string;

  abstract countries(version: IpVersion, options?: ReadOptions): Promise<string[]>;

  abstract stock(country: string, version: IpVersion, options?: ReadOptions): Promise<number>;

  /** Returns one proxy's prices. Periods missing from the table may still be on sale: see `totalPrice`. */
  abstract priceTable(options?: ReadOptions): Promise<PriceTable>;

  abstract totalPrice(
    offer: { count: number; period: number; version: IpVersion },
    options?: ReadOptions,
  ): Promise<string>;

  /**
   * Includes expired proxies.
   * @throws ListingIncomplete if the list may be incomplete and does not satisfy `isEnough`
   */
  abstract proxiesByReference(orderReference: string, options?: ListingOptions): Promise<ListedProxy[]>;

  /** Includes expired proxies. A proxy that changes during the listing may appear twice or not at all. */
  abstract allProxies(options?: Pick<ReadOptions, 'priority' | 'permit'>): AsyncIterable<ListedPage>;

  /** @throws ProviderClosed if a circuit breaker is open, or the known balance does not cover `quoted` */
  abstract assertTakesOrders(quoted?: string): void;

  /**
   * Returns whether our balance covers a cost. Before returning false, checks the balance that other replicas
   * have stored. Never rejects.
   */
  abstract affords(cost: string): Promise<boolean>;

  /**
   * An order is claimed only after it gets a permit, because a claimed order counts as possibly bought.
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

  /** May be retried. If the proxy already has this type, the call may throw ProviderOutcomeUnknown. */
  abstract setType(
    change: { proxyId: string; proxyType: ProxyType },
    options?: Pick<ReadOptions, 'priority' | 'deadline'>,
  ): Promise<void>;

  /** Runs the provider's own check. */
  abstract checkProxy(proxyId: string, options?: ReadOptions): Promise<boolean>;

  /** Deletes without a refund. May be retried: the refusal `not-found` confirms the deletion. */
  abstract deleteProxy(proxyId: string, options?: ReadOptions): Promise<void>;

  /** Returns the maximum total cost of orders; `null` if unknown. Never shown to customers. */
  abstract spendable(): string | null;

  /** @throws ProviderError */
  abstract readBalance(): Promise<string | null>;

  abstract status(): ProviderStatus;

  /** Switches to a new API key from the key's file. Never rejects. */
  abstract followKey(): Promise<void>;

  /** Stops the circuit breakers' probes, and makes waiting calls fail. */
  abstract stop(): void;
}

/**
 * Highest priority first. `confirmation` is for reads on which orders depend (outcome, stock, balance),
 * `exact` for calls that customers can request without limit. `spare` is for orders that the customer cannot
 * pay for. It leaves one permit of each window free.
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
  /** Nothing is sent or awaited after the deadline. Defaults to the configured call timeout. */
  readonly deadline?: Deadline;
  readonly onCall?: (call: ProviderCallRecord) => void;
}

export interface ReadOptions extends CallOptions {
  /** Defaults to `rest`. */
  readonly priority?: CallPriority;
  /** If omitted, the read waits for a permit of its own. */
  readonly permit?: RatePermit;
}

export interface ListingOptions extends ReadOptions {
  /**
   * Whether the listing may end early. `unread` is the number of unreadable rows with the order reference.
   */
  readonly isEnough?: (listed: readonly ListedProxy[], unread: number) => boolean;
}

export interface MoneyCallOptions extends CallOptions {
  /** If the permit expires before anything is sent, the call waits for another one. */
  readonly permit: RatePermit;
  /** The expected cost. A refusal for lack of funds shows that our balance is below this amount. */
  readonly quoted: string;
}

/** Contains no API key, login or password. */
export interface ProviderCallRecord {
  readonly method: string;
  readonly request: Readonly<Record<string, string>>;
  readonly outcome: 'done' | ProviderError['outcome'];
  readonly httpStatus: number | null;
  /** The JSON of the response, or the reason why there is none. */
  readonly response: unknown;
  readonly durationMs: number;
}

export type PriceTable = ReadonlyMap<IpVersion, ReadonlyMap<number, string>>;

export interface ProviderPurchaseRequest {
  /** Unique to this purchase. */
  readonly orderReference: string;
  readonly country: string;
  readonly version: IpVersion;
  readonly period: number;
  readonly count: number;
  readonly proxyType: ProxyType;
}

export interface ProviderPurchase {
  readonly providerOrderId: string | null;
  readonly charge: string;
  /** At least one, at most the ordered count. */
  readonly proxies: readonly ProviderProxy[];
}

export interface ProviderProlongation {
  readonly providerOrderId: string | null;
  readonly charge: string;
  /** New expiries, keyed by the provider's proxy id. */
  readonly dateEnds: ReadonlyMap<string, Date>;
}

export interface ProviderProxy {
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
  /** Empty if the purchase had none. */
  readonly orderReference: string;
  readonly country: string | null;
  readonly version: IpVersion | null;
}

/** A row that cannot be read. It may be malformed, or unrelated to this service. */
export interface UnreadRow {
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

/** A purchase must fit on one page of a listing, and a URL with 200 ids is short enough for any server. */
export const PROXIES_PER_CALL = { purchase: MAX_ORDER_SIZE, prolongation: 200 } as const;

export class ListingIncomplete extends ProviderOutcomeUnknown {
  constructor(readonly found: readonly ListedProxy[]) {
    super('the listing may lack proxies: some of its rows cannot be read, or have another order reference');
  }
}

export interface BreakerStatus {
  /** `money` and `reads` stop calls; `funds` does not. */
  readonly name: 'money' | 'reads' | 'funds';
  readonly state: 'closed' | 'open' | 'half-open';
  readonly since: Date;
}

export interface ProviderStatus {
  readonly breakers: readonly BreakerStatus[];
  /** Number of this process's calls waiting for a permit, by priority. */
  readonly waitingCalls: Readonly<Record<CallPriority, number>>;
}
