import { Check, Column, Entity, ForeignKey, PrimaryColumn } from 'typeorm';

/** What holds for all renewals of a user. No row: no budget, and not paused. */
@Entity('renewal_settings')
@Check('renewal_settings_monthly_budget_check', 'monthly_budget >= 0')
@Check('renewal_settings_paused_check', '(paused_at IS NULL) = (paused_reason IS NULL)')
export class RenewalSettings {
  @PrimaryColumn({ type: 'bigint' })
  @ForeignKey('User')
  userId!: number;

  /** What renewals of one month (UTC) may cost together. Null: as much as the balance pays. */
  @Column({ type: 'numeric', precision: 14, scale: 2, nullable: true })
  monthlyBudget!: string | null;

  /** Set by staff. */
  @Column({ type: 'timestamptz', nullable: true })
  pausedAt!: Date | null;

  @Column({ type: 'text', nullable: true })
  pausedReason!: string | null;
}
