import { Check, Column, CreateDateColumn, Entity, ForeignKey, Index, PrimaryGeneratedColumn } from 'typeorm';
import { sqlList } from '../database';

/** Why a webhook gets nothing: who switched it off, or what did. */
export const DISABLED_REASONS = ['customer', 'failing', 'gone', 'operator', 'deleted'] as const;

export type DisabledReason = (typeof DISABLED_REASONS)[number];

/** An address of a customer to which their events are sent. */
@Entity('webhooks')
@Index('webhooks_user_id_idx', ['userId', 'id'])
@Index('webhooks_trouble_idx', ['id'], { where: 'disabled_at IS NOT NULL OR failing_since IS NOT NULL' })
@Check('webhooks_secret_check', '(secret IS NULL) = (deleted_at IS NOT NULL)')
@Check('webhooks_previous_check', '(previous_secret IS NULL) = (previous_secret_until IS NULL)')
@Check('webhooks_disabled_check', '(disabled_reason IS NULL) = (disabled_at IS NULL)')
@Check('webhooks_disabled_reason_check', `disabled_reason IN ${sqlList(DISABLED_REASONS)}`)
@Check(
  'webhooks_deleted_check',
  `(disabled_reason IS NOT DISTINCT FROM 'deleted') = (deleted_at IS NOT NULL)`,
)
export class Webhook {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'BY DEFAULT' })
  id!: number;

  @Column({ type: 'bigint' })
  @ForeignKey('User')
  userId!: number;

  /** May hold a secret of the customer in its path or query: no log has more of it than the host. */
  @Column({ type: 'text' })
  url!: string;

  /** The types of events that it gets; null: all. */
  @Column({ type: 'text', array: true, nullable: true })
  types!: string[] | null;

  @Column({ type: 'text', nullable: true })
  description!: string | null;

  /** As the customer has it, because signing needs it; null once the webhook is deleted. */
  @Column({ type: 'text', nullable: true })
  secret!: string | null;

  /** The secret before, with which is signed as well until the time of the next column. */
  @Column({ type: 'text', nullable: true })
  previousSecret!: string | null;

  @Column({ type: 'timestamptz', nullable: true })
  previousSecretUntil!: Date | null;

  @CreateDateColumn({ type: 'timestamptz' })
  createdAt!: Date;

  /** While it is on, every event of its types behind this position has a delivery. */
  @Column({ type: 'bigint', default: 0 })
  sincePosition!: number;

  /** Null: it is on. */
  @Column({ type: 'timestamptz', nullable: true })
  disabledAt!: Date | null;

  @Column({ type: 'text', nullable: true })
  disabledReason!: DisabledReason | null;

  /** The first failed attempt since the last that succeeded; null: the last one succeeded. */
  @Column({ type: 'timestamptz', nullable: true })
  failingSince!: Date | null;

  /** Attempts that failed since the last that succeeded. */
  @Column({ type: 'integer', default: 0 })
  failuresInARow!: number;

  /** Nothing is sent before, because attempts have failed. */
  @Column({ type: 'timestamptz', nullable: true })
  pausedUntil!: Date | null;

  /** It is the customer's no longer; its deliveries are removed in steps, and then this row. */
  @Column({ type: 'timestamptz', nullable: true })
  deletedAt!: Date | null;
}
