import { Column, CreateDateColumn, Entity, PrimaryGeneratedColumn } from 'typeorm';
import type { IpVersion } from '../common';

/**
 * A markup for some offers, for a time (`docs/decisions/0016-price-rules.md`). It is never edited: only its
 * end is written later. A `null` in its scope matches all.
 */
@Entity('price_rules')
export class PriceRule {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'BY DEFAULT' })
  id!: number;

  @Column({ type: 'bigint', nullable: true })
  userId!: number | null;

  /** In lower case. */
  @Column({ type: 'text', nullable: true })
  country!: string | null;

  @Column({ type: 'text', nullable: true })
  version!: IpVersion | null;

  /** Days, included. */
  @Column({ type: 'integer', nullable: true })
  minPeriod!: number | null;

  /** Days, included. */
  @Column({ type: 'integer', nullable: true })
  maxPeriod!: number | null;

  @Column({ type: 'numeric', precision: 8, scale: 4 })
  markupPercent!: string;

  @Column({ type: 'timestamptz' })
  validFrom!: Date;

  /** The rule applies until this moment, or never if it equals `validFrom`. `null` without an end. */
  @Column({ type: 'timestamptz', nullable: true })
  validTo!: Date | null;

  @CreateDateColumn({ type: 'timestamptz' })
  createdAt!: Date;

  @Column({ type: 'text' })
  createdBy!: string;

  @Column({ type: 'text' })
  reason!: string;

  /** When its end was written; `null` also when the rule was added with an end. */
  @Column({ type: 'timestamptz', nullable: true })
  endedAt!: Date | null;

  @Column({ type: 'text', nullable: true })
  endedBy!: string | null;

  @Column({ type: 'text', nullable: true })
  endReason!: string | null;
}
