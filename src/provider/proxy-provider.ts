import type { IpVersion, ProxyType } from '../common';
import type { Deadline } from './deadline';
import type { ProviderError } from './provider-errors';

/**
 * The port to a provider that sells proxies.
 *
 * Every method that asks the provider throws a ProviderError of one of three kinds (`provider-errors.ts`)
 * when it has no usable answer, and nothing else. Reads wait for their own rate permit and may be repeated. A
 * method that costs money needs a permit that was waited for, and sends its call at most once.
 *
 * Amounts are roubles as decimal strings of any precision, periods are days, country codes are in lower case.
 */
export abstract class ProxyProvider {
  /** Stored with each order and proxy. */
  abstract readonly name: string;

  // Catalog

  /** Lists the countries on sale, in the provider's order. */
  abstract countries(version: IpVersion, options?: ReadOptions): Promise<string[]>;

  /** Counts the proxies in stock. */
  abstract stock(country: string, version: IpVersion, options?: ReadOptions): Promise<number>;

  /** Lists the prices of a single proxy. What is missing may be on sale all the same: `totalPrice` tells. */
  abstract priceTable(options?: ReadOptions): Promise<PriceTable>;

  /** Quotes the total price of exactly this many proxies for this period. */
  abstract totalPrice(
    offer: { count: number; period: number; version: IpVersion },
    options?: ReadOptions,
  ): Promise<string>;

  // What was bought

  /**
   * Lists all proxies that were bought under a tag, including expired ones. The list is complete or has
   * enough, or this is an error: what a listing lacks is never left to a guess.
   *
   * @throws ProviderOutcomeUnknown also when the pages do not show whether they have everything
   */
  abstract proxiesByTag(tag: string, options?: ListingOptions): Promise<ListedProxy[]>;

  /**
   * Lists all proxies of our account, including expired ones, page by page. It is no snapshot: what changes
   * or moves meanwhile may be listed twice or not at all.
   */
  abstract allProxies(
    options?: Pick<ReadOptions, 'priority' | 'permit'>,
  ): AsyncIterable<readonly ListedProxy[]>;

  // Orders

  /**
   * Tells at once whether an order could be sent, before anything is reserved for it.
   *
   * @param quoted what the order is going to cost at the provider
   * @throws ProviderClosed while a circuit breaker is open, or when the known balance does not cover `quoted`
   */
  abstract assertTakesOrders(quoted?: string): void;

  /**
   * Whether the known balance covers a cost, right before it is sent. Before it says no, it looks at what
   * other replicas know; a no has the balance read in the background. Never rejects.
   */
  abstract affords(cost: string): Promise<boolean>;

  /**
   * Waits for permission to make one call. Money calls do not wait by themselves: an order that waits must
   * not count as possibly bought.
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

  // Proxies

  /**
   * Changes the protocol of a proxy. It costs nothing and may be repeated: setting what is set already
   * changes nothing, though the outcome can then be called unknown.
   */
  abstract setType(
    change: { proxyId: string; proxyType: ProxyType },
    options?: Pick<ReadOptions, 'priority' | 'deadline'>,
  ): Promise<void>;

  // State

  /** The balance of our account in the latest answer that this process knows of; null before the first. */
  abstract balance(): ProviderBalance | null;

  /** What orders may cost together, as far as is known: the balance, or a cost that was refused if less. */
  abstract spendable(): string | null;

  /** Asks the provider for the balance. @throws ProviderError */
  abstract readBalance(): Promise<ProviderBalance | null>;

  abstract status(): ProviderStatus;

  /** Goes over to a new key at the provider, if one was put into the file of the key. Never rejects. */
  abstract followKey(): Promise<void>;

  /** Ends the waits of all calls, which fail, and the probes of the circuit breakers. */
  abstract stop(): void;
}

/**
 * Which calls go first when several wait: orders, then what decides about orders (their outcome, a stock or
 * balance that was too small), then the table of prices, then the rest, then what customers can ask for
 * without end: exact prices and changes of type. What has waited while many others went goes before all.
 */
export const CALL_PRIORITIES = ['order', 'confirmation', 'price', 'rest', 'exact'] as const;
export type CallPriority = (typeof CALL_PRIORITIES)[number];

/**
 * Permission to make one call within the provider's rate limit, which all replicas share. It soon expires.
 */
export interface RatePermit {
  readonly until: Deadline;
  /** Leaves the permit to another call, after nothing was sent. Never rejects. */
  giveBack(): Promise<void>;
}

export interface CallOptions {
  /**
   * Nothing is sent and no answer is awaited after it. By default the configured time limit of a call
   * applies.
   */
  readonly deadline?: Deadline;
  /** Receives a record of each call, whatever its outcome. */
  readonly onCall?: (call: ProviderCallRecord) => void;
}

export interface ReadOptions extends CallOptions {
  /** By default `rest`. */
  readonly priority?: CallPriority;
  /** A permit that was waited for already. */
  readonly permit?: RatePermit;
}

export interface ListingOptions extends ReadOptions {
  /** Whether what was found answers the question, so that no further page is read. By default never. */
  readonly isEnough?: (listed: readonly ListedProxy[]) => boolean;
}

export interface MoneyCallOptions extends CallOptions {
  /** Should it expire before anything was sent, another one is waited for. */
  readonly permit: RatePermit;
  /**
   * The expected cost. After a refusal for lack of funds, orders that cost as much are refused until the
   * balance covers it.
   */
  readonly quoted: string;
}

/** The record of a call, fit to be stored: without API key, logins and passwords. */
export interface ProviderCallRecord {
  readonly method: string;
  readonly request: Readonly<Record<string, string>>;
  readonly outcome: 'done' | ProviderError['outcome'];
  /** Null when there was no answer. */
  readonly httpStatus: number | null;
  /** The JSON of the answer, or why there is none. */
  readonly answer: unknown;
  readonly durationMs: number;
}

/** Prices of a single proxy, by version and period. */
export type PriceTable = ReadonlyMap<IpVersion, ReadonlyMap<number, string>>;

export interface ProviderPurchaseRequest {
  /** Unique to this purchase. The provider keeps it with each proxy, so that `proxiesByTag` finds them. */
  readonly tag: string;
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
  /** Never empty and never more than asked for; fewer when the provider delivered short. */
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
  /** `auto`: both protocols on one port. */
  readonly type: ProxyType | 'auto';
  readonly dateStart: Date;
  readonly dateEnd: Date;
}

/** A proxy in a listing. */
export interface ListedProxy extends ProviderProxy {
  /** The tag that it was bought under; empty when it was bought without one. */
  readonly tag: string;
  readonly country: string | null;
  readonly version: IpVersion | null;
}

/** The balance of our account at the provider. Never shown to customers. */
export interface ProviderBalance {
  readonly amount: string;
  readonly seenAt: Date;
}

export interface BreakerStatus {
  /**
   * `money` and `reads` open when such calls fail, `funds` when our balance did not cover a call: it stops
   * none.
   */
  readonly name: 'money' | 'reads' | 'funds';
  readonly state: 'closed' | 'open' | 'half-open';
  readonly since: Date;
}

/** What this process knows of the provider, for staff. */
export interface ProviderStatus {
  readonly breakers: readonly BreakerStatus[];
  /** The calls of this process that wait for a permit. */
  readonly waitingCalls: Readonly<Record<CallPriority, number>>;
}
