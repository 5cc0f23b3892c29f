import type { IpVersion } from '../common';

/**
 * A markup for some offers, for a time (`docs/decisions/0016-price-rules.md`). It is never edited: only its
 * end is written later. A field of its scope that is `null` matches all.
 */
export interface PriceRule {
  readonly id: number;
  readonly userId: number | null;
  /** In lower case. */
  readonly country: string | null;
  readonly version: IpVersion | null;
  /** Days, inclusive. */
  readonly minPeriod: number | null;
  /** Days, inclusive. */
  readonly maxPeriod: number | null;
  readonly markupPercent: string;
  readonly validFrom: Date;
  /**
   * The rule does not apply from this moment on, or never did if it equals `validFrom`. `null` until it ends.
   */
  readonly validTo: Date | null;
  readonly createdAt: Date;
  readonly createdBy: string;
  readonly reason: string;
  /** When its end was written; null also if the rule was added with an end. */
  readonly endedAt: Date | null;
  readonly endedBy: string | null;
  readonly endReason: string | null;
}
