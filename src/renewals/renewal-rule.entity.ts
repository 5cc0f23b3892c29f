import { Check, Column, CreateDateColumn, Entity, ForeignKey, Index, PrimaryGeneratedColumn } from 'typeorm';

/**
 * What a customer wants renewed: one proxy, those of a filter, or all (no proxy and no filter). It is never
 * changed but switched off, and replaced by another one.
 */
@Entity('renewal_rules')
@Index('renewal_rules_proxy_id_idx', ['proxyId'], {
  unique: true,
  where: 'switched_off_at IS NULL AND proxy_id IS NOT NULL',
})
@Index('renewal_rules_wide_idx', ['userId', 'id'], { where: 'switched_off_at IS NULL AND proxy_id IS NULL' })
@Index('renewal_rules_user_id_idx', ['userId', 'id'], { where: 'switched_off_at IS NULL' })
@Check('renewal_rules_target_check', 'proxy_id IS NULL OR num_nonnulls(country, label, tag) = 0')
@Check(
  'renewal_rules_exclusion_check',
  'period > 0 OR (period IS NULL AND proxy_id IS NOT NULL AND max_price IS NULL)',
)
@Check('renewal_rules_max_price_check', 'max_price >= 0')
@Check('renewal_rules_hours_before_check', 'hours_before BETWEEN 2 AND 168')
export class RenewalRule {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'BY DEFAULT' })
  id!: number;

  @Column({ type: 'bigint' })
  @ForeignKey('User')
  userId!: number;

  /** Null: the rule is for a filter or for all. */
  @Column({ type: 'bigint', nullable: true })
  @ForeignKey('Proxy')
  proxyId!: number | null;

  /** The filter: what is null narrows nothing down. Each as `ProxyFilter` has it. */
  @Column({ type: 'text', nullable: true })
  country!: string | null;

  @Column({ type: 'text', nullable: true })
  label!: string | null;

  @Column({ type: 'text', nullable: true })
  tag!: string | null;

  /** Days. Null: the proxy is excluded from every wider rule. */
  @Column({ type: 'integer', nullable: true })
  period!: number | null;

  /** What one renewal of one proxy may cost at most. Null: any price. */
  @Column({ type: 'numeric', precision: 14, scale: 2, nullable: true })
  maxPrice!: string | null;

  /** How long before the end of a rental its renewal is due. */
  @Column({ type: 'integer', default: 24 })
  hoursBefore!: number;

  @CreateDateColumn({ type: 'timestamptz' })
  createdAt!: Date;

  /** Null: the rule is on. */
  @Column({ type: 'timestamptz', nullable: true })
  switchedOffAt!: Date | null;
}
