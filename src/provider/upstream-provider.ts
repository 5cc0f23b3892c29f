import type { CallPriority } from './call-rate';
import type { Deadline } from './deadline';

/** `4s` is IPv4 shared. */
export type IpVersion = '6' | '4' | '4s';
export type ProxyType = 'http' | 'socks';

/** A proxy as the provider knows it. */
export interface UpstreamProxy {
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
export interface ListedProxy extends UpstreamProxy {
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
  readonly proxies: readonly UpstreamProxy[];
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
  /** Of a read, which waits for its turn by itself. Default `rest`. */
  readonly priority?: CallPriority;
}

/**
 * The port to an upstream that sells proxies. Every method throws one of the three kinds of `provider-errors.ts` when it has no
 * answer, and nothing else. Calls are sent once: no method repeats anything.
 */
export abstract class UpstreamProvider {
  /** Stored with each order and proxy. */
  abstract readonly name: string;

  /** Country codes in lower case, in the provider's order. */
  abstract countries(version: IpVersion): Promise<string[]>;

  abstract stock(country: string, version: IpVersion): Promise<number>;

  /** The provider's price of exactly this many for this period, in total: roubles, a decimal string of any precision. */
  abstract totalPrice(offer: { count: number; period: number; version: IpVersion }): Promise<string>;

  /** All proxies bought under a tag, expired ones too. Complete, or an error. */
  abstract proxiesByTag(tag: string, options?: ProviderCallOptions): Promise<ListedProxy[]>;

  /**
   * Everything that is rented under our key, expired ones too, a page at a time. Not a snapshot: what changes meanwhile may come twice
   * or not at all.
   */
  abstract allProxies(): AsyncIterable<readonly ListedProxy[]>;

  /**
   * Waits for a place in the rate that the provider allows. The money calls below do not wait by themselves, because what waits
   * must not count as possibly bought yet.
   *
   * @throws ProviderUnavailable when there is none in time
   */
  abstract waitForTurn(priority: CallPriority, maxWaitMs: number): Promise<void>;

  /** Buys. Costs money each time it is called. */
  abstract buy(purchase: PurchaseRequestToProvider, options: ProviderCallOptions): Promise<ProviderPurchase>;

  /** Prolongs. Costs money each time it is called. */
  abstract prolong(
    prolongation: { proxyIds: readonly string[]; period: number },
    options: ProviderCallOptions,
  ): Promise<ProviderProlongation>;
}
