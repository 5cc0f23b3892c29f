import { Check, Column, CreateDateColumn, Entity, ForeignKey, Index, PrimaryGeneratedColumn } from 'typeorm';
import { IP_VERSIONS, type IpVersion } from '../common';
import { sqlList } from '../database';

/**
 * A markup for some offers, for a time (`docs/decisions/0016-price-rules.md`). It is never edited: only its
 * end is written later. What is null in its scope stands for all.
 */
@Entity('price_rules')
@Index('price_rules_user_id_idx', ['userId'], { where: 'user_id IS NOT NULL' })
@Index('price_rules_valid_to_idx', ['validTo'])
@Check('price_rules_version_check', `version IN ${sqlList(IP_VERSIONS)}`)
@Check('price_rules_country_check', `country ~ '^[a-z]{2,4}$'`)
@Check(
  'price_rules_period_check',
  'min_period BETWEEN 1 AND 3650 AND max_period BETWEEN 1 AND 3650 AND min_period <= max_period',
)
@Check('price_rules_markup_check', 'markup_percent >= 0')
@Check('price_rules_valid_check', 'valid_to >= valid_from')
@Check(
  'price_rules_ended_check',
  `(ended_at IS NULL) = (ended_by IS NULL) AND (ended_at IS NULL) = (end_reason IS NULL)
   AND (ended_at IS NULL OR valid_to IS NOT NULL)`,
)
export class PriceRule {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'BY DEFAULT' })
  id!: number;

  @Column({ type: 'bigint', nullable: true })
  @ForeignKey('User')
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

  /**
   * The rule does not hold from this moment on, or never did if it equals `validFrom`. Null: not ended yet.
   */
  @Column({ type: 'timestamptz', nullable: true })
  validTo!: Date | null;

  @CreateDateColumn({ type: 'timestamptz' })
  createdAt!: Date;

  @Column({ type: 'text' })
  createdBy!: string;

  @Column({ type: 'text' })
  reason!: string;

  /** When its end was written; null also when the rule was added with an end. */
  @Column({ type: 'timestamptz', nullable: true })
  endedAt!: Date | null;

  @Column({ type: 'text', nullable: true })
  endedBy!: string | null;

  @Column({ type: 'text', nullable: true })
  endReason!: string | null;
}

/** The values of MARKUP_PERCENT with which replicas have started, one row for each change. */
@Entity('default_markups')
export class DefaultMarkup {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'BY DEFAULT' })
  id!: number;

  @Column({ type: 'numeric', precision: 8, scale: 4 })
  markupPercent!: string;

  @Column({ type: 'timestamptz', default: () => 'clock_timestamp()' })
  notedAt!: Date;
}
