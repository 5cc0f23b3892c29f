import type { IpVersion } from '../common';

/** Only the end of a rule may change later. A `null` field of the scope matches any value. */
export interface PriceRule {
  readonly id: number;
  readonly userId: number | null;
  /** Lower case. */
  readonly country: string | null;
  readonly version: IpVersion | null;
  /** In days, inclusive, like `maxPeriod`. */
  readonly minPeriod: number | null;
  readonly maxPeriod: number | null;
  readonly markupPercent: string;
  readonly validFrom: Date;
  /** Exclusive; `null` if no end is set. If it equals `validFrom`, the rule never applied. */
  readonly validTo: Date | null;
  readonly createdAt: Date;
  readonly createdBy: string;
  readonly reason: string;
  /** When the end was set; null if the rule has no end or was added with one. */
  readonly endedAt: Date | null;
  readonly endedBy: string | null;
  readonly endReason: string | null;
}
