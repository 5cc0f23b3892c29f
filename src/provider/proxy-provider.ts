import type { IpVersion, ProxyType } from '../common';
import type { Deadline } from './deadline';

/** Who goes first when calls wait: customers' orders, then finding out what became of orders, then prices, then the rest. */
export const CALL_PRIORITIES = ['order', 'confirmation', 'price', 'rest'] as const;
export type CallPriority = (typeof CALL_PRIORITIES)[number];

/** Leave to make one call, for a moment: a place in the rate that the provider allows, among all replicas. */
export interface RatePermit {
  readonly until: Deadline;
  /** Leaves the place to somebody else, when nothing was sent. Never rejects. */
  giveBack(): Promise<void>;
}

/** What the provider asks for one proxy, by version and days: roubles, decimal strings of any precision. */
export type PriceTable = ReadonlyMap<IpVersion, ReadonlyMap<number, string>>;

/** A proxy as the provider knows it. */
export interface ProviderProxy {
  /** The provider's own number of it. */
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
  /** It was bought under. */
  readonly tag: string;
  readonly country: string | null;
  readonly version: IpVersion | null;
}

export interface PurchaseRequestToProvider {
  readonly tag: string;
  readonly country: string;
  readonly version: IpVersion;
  readonly period: number;
  readonly count: number;
  readonly proxyType: ProxyType;
}

export interface ProviderPurchase {
  readonly providerOrderId: string | null;
  /** What the provider took, roubles, a decimal string of any precision. */
  readonly charge: string;
  /** Never more than asked; fewer when the provider delivered short. */
  readonly proxies: readonly ProviderProxy[];
}

export interface ProviderProlongation {
  readonly providerOrderId: string | null;
  readonly charge: string;
  /** The new end of each proxy that was prolonged, by the provider's number of it. */
  readonly dateEnds: ReadonlyMap<string, Date>;
}

/** What was asked and answered in one call, fit to be kept: without key, logins and passwords. */
export interface ProviderCallRecord {
  readonly method: string;
  readonly request: Readonly<Record<string, string>>;
  readonly outcome: 'done' | 'refused' | 'unavailable' | 'unknown';
  readonly httpStatus: number | null;
  readonly answer: unknown;
  readonly durationMs: number;
}

export interface ProviderCallOptions {
  /** Nothing is sent and no answer is awaited after this. Without one, the configured limit of a whole call counts from now. */
  readonly deadline?: Deadline;
  readonly onCall?: (call: ProviderCallRecord) => void;
}

/** Reads wait for their permit by themselves. */
export interface ProviderReadOptions extends ProviderCallOptions {
  /** Default `rest`. */
  readonly priority?: CallPriority;
  /** A permit that was waited for already. */
  readonly permit?: RatePermit;
}

export interface MoneyCallOptions extends ProviderCallOptions {
  /** A permit that was waited for. Should it have passed before anything was sent, another one is waited for. */
  readonly permit: RatePermit;
  /** What the call is expected to cost, roubles, a decimal string: what has to be there again after a refusal for lack of funds. */
  readonly quoted: string;
}

/** The balance of our own account at the provider. Never shown to customers. */
export interface ProviderBalance {
  /** Roubles, a decimal string. */
  readonly amount: string;
  readonly seenAt: Date;
}

export interface BreakerStatus {
  readonly name: 'money' | 'reads' | 'funds';
  readonly state: 'closed' | 'open' | 'half-open';
  readonly since: Date;
}

/** How this process stands with the provider, for staff. */
export interface ProviderStatus {
  readonly breakers: readonly BreakerStatus[];
  /** Calls of this process that wait for their permit. */
  readonly waitingCalls: Readonly<Record<CallPriority, number>>;
}

/**
 * The port to a provider that sells proxies. Every method throws one of the three kinds of `provider-errors.ts` when it has no
 * answer, and nothing else. Calls that cost money are sent once; a read may be repeated.
 */
export abstract class ProxyProvider {
  /** Stored with each order and proxy. */
  abstract readonly name: string;

  /** Country codes in lower case, in the provider's order. */
  abstract countries(version: IpVersion, options?: ProviderReadOptions): Promise<string[]>;

  abstract stock(country: string, version: IpVersion, options?: ProviderReadOptions): Promise<number>;

  /** Versions and periods that are missing may be sold all the same: ask for their total price. */
  abstract priceTable(options?: ProviderReadOptions): Promise<PriceTable>;

  /** The provider's price of exactly this many for this period, in total: roubles, a decimal string of any precision. */
  abstract totalPrice(
    offer: { count: number; period: number; version: IpVersion },
    options?: ProviderReadOptions,
  ): Promise<string>;

  /** All proxies bought under a tag, expired ones too. Complete, or an error. */
  abstract proxiesByTag(tag: string, options?: ProviderReadOptions): Promise<ListedProxy[]>;

  /**
   * Everything that is rented under our key, expired ones too, a page at a time. Not a snapshot: what changes meanwhile may come twice
   * or not at all.
   */
  abstract allProxies(
    options?: Pick<ProviderReadOptions, 'priority' | 'permit'>,
  ): AsyncIterable<readonly ListedProxy[]>;

  /**
   * Refuses an order before anything is reserved for it, while a circuit breaker is open, or when it costs more than what is known to
   * be left at the provider. Answers at once.
   *
   * @param quoted what the order costs there, roubles
   * @throws ProviderClosed
   */
  abstract assertTakesOrders(quoted?: string): void;

  /** What the last answer of any replica said, as far as this process knows; null before the first. */
  abstract balance(): ProviderBalance | null;

  abstract status(): ProviderStatus;

  /**
   * Waits for a place in the rate that the provider allows. The money calls below do not wait by themselves, because what waits
   * must not count as possibly bought yet.
   *
   * @throws ProviderUnavailable when there is none in time
   */
  abstract waitForPermit(priority: CallPriority, maxWaitMs: number): Promise<RatePermit>;

  /** Buys. Costs money each time it is called. */
  abstract buy(purchase: PurchaseRequestToProvider, options: MoneyCallOptions): Promise<ProviderPurchase>;

  /** Prolongs. Costs money each time it is called. */
  abstract prolong(
    prolongation: { proxyIds: readonly string[]; period: number },
    options: MoneyCallOptions,
  ): Promise<ProviderProlongation>;
}
