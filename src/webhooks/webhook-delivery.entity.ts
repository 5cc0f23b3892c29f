import {
  Check,
  Column,
  CreateDateColumn,
  Entity,
  ForeignKey,
  Index,
  PrimaryGeneratedColumn,
  Unique,
} from 'typeorm';
import { sqlList } from '../database';

export const DELIVERY_STATES = ['pending', 'delivered', 'failed'] as const;

export type DeliveryState = (typeof DELIVERY_STATES)[number];

/** One event for one webhook. */
@Entity('webhook_deliveries')
@Unique(['eventId', 'webhookId'])
@Index('webhook_deliveries_due_idx', ['webhookId', 'nextAttemptAt', 'id'], { where: `state = 'pending'` })
@Index('webhook_deliveries_webhook_id_idx', ['webhookId', 'id'])
@Index('webhook_deliveries_leased_idx', ['webhookId'], { where: 'lease_until IS NOT NULL' })
@Check('webhook_deliveries_state_check', `state IN ${sqlList(DELIVERY_STATES)}`)
@Check('webhook_deliveries_attempts_check', 'attempts >= 0')
@Check(
  'webhook_deliveries_pending_check',
  `(state = 'pending') = (closed_at IS NULL)
    AND (state = 'pending') = (next_attempt_at IS NOT NULL)
    AND (state = 'pending' OR lease_until IS NULL)`,
)
export class WebhookDelivery {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'BY DEFAULT' })
  id!: number;

  @Column({ type: 'bigint' })
  @ForeignKey('Webhook')
  webhookId!: number;

  /** It goes with its event. */
  @Column({ type: 'bigint' })
  @ForeignKey('LoggedEvent', { onDelete: 'CASCADE' })
  eventId!: number;

  /** When the event was published, or first replayed to this webhook. */
  @CreateDateColumn({ type: 'timestamptz' })
  createdAt!: Date;

  @Column({ type: 'text', default: 'pending' })
  state!: DeliveryState;

  /** Since it was made, or last replayed. */
  @Column({ type: 'integer', default: 0 })
  attempts!: number;

  /** Null unless it is pending. */
  @Column({ type: 'timestamptz', nullable: true, default: () => 'now()' })
  nextAttemptAt!: Date | null;

  /** Until when nobody else takes it up; null: nobody is sending it. */
  @Column({ type: 'timestamptz', nullable: true })
  leaseUntil!: Date | null;

  /** When it was delivered, or given up; null while it is pending. */
  @Column({ type: 'timestamptz', nullable: true })
  closedAt!: Date | null;
}
