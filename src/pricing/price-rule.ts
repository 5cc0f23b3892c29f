import type { IpVersion } from '../common';

/** Markup for some offers, for a time. Only the end may change later. A `null` in the scope matches all. */
export interface PriceRule {
  readonly id: number;
  readonly userId: number | null;
  /** Country code in lower case. */
  readonly country: string | null;
  readonly version: IpVersion | null;
  /** First period in days, inclusive. */
  readonly minPeriod: number | null;
  /** Last period in days, inclusive. */
  readonly maxPeriod: number | null;
  readonly markupPercent: string;
  readonly validFrom: Date;
  /** End of the rule, exclusive; `null` until it ends. If it equals `validFrom`, the rule never applied. */
  readonly validTo: Date | null;
  readonly createdAt: Date;
  readonly createdBy: string;
  readonly reason: string;
  /** Time when the rule's end was set afterwards; null if it has no end or was added with one. */
  readonly endedAt: Date | null;
  readonly endedBy: string | null;
  readonly endReason: string | null;
}
