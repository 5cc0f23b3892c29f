import { compareDecimals, subtractDecimals } from '../../common';

/**
 * How many purchases with ends that no sweep has confirmed are in the queue at once: each requires a listing,
 * which shows the ends of all its proxies.
 */
const PURCHASES_TO_LIST = 10;

interface Placeable {
  readonly isConfirmed: boolean;
  readonly purchaseReference: string;
  readonly quote: { readonly providerPrice: string };
}

/** The room in the queue in addition to the orders of renewals that have no outcome yet. */
export class RenewalRoom {
  constructor(
    /** How many are queued or under way. */
    readonly underWay: number,
    /** How many more may be queued. */
    private free: number,
    /** The known limit of their cost at the provider, in roubles; `null` when it is unknown. */
    private spendable: string | null,
    /** The order references of purchases that must be listed before the call. */
    private readonly toList: Set<string>,
  ) {}

  isFull(): boolean {
    return this.free <= 0;
  }

  /** Whether our balance at the provider covers it in addition to queued orders and room already taken. */
  covers(cost: string): boolean {
    return this.spendable === null || compareDecimals(this.spendable, cost) >= 0;
  }

  /** Takes room for one more order. @returns false when there is none */
  take({ isConfirmed, purchaseReference, quote }: Placeable): boolean {
    const isListed = isConfirmed || this.toList.has(purchaseReference);
    if (!isListed && this.toList.size >= PURCHASES_TO_LIST) return false;
    if (this.isFull() || !this.covers(quote.providerPrice)) return false;
    if (!isListed) this.toList.add(purchaseReference);
    if (this.spendable !== null) this.spendable = subtractDecimals(this.spendable, quote.providerPrice);
    this.free -= 1;
    return true;
  }
}
