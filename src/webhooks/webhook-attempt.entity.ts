import { Check, Column, CreateDateColumn, Entity, ForeignKey, Index, PrimaryGeneratedColumn } from 'typeorm';

/** What came of sending an event once. */
@Entity('webhook_attempts')
@Index('webhook_attempts_webhook_id_idx', ['webhookId', 'id'])
@Index('webhook_attempts_delivery_id_idx', ['deliveryId'])
@Check('webhook_attempts_duration_ms_check', 'duration_ms >= 0')
@Check('webhook_attempts_answer_check', 'octet_length(answer) <= 4096')
@Check('webhook_attempts_outcome_check', 'num_nonnulls(status, error) >= 1')
export class WebhookAttempt {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'BY DEFAULT' })
  id!: number;

  @Column({ type: 'bigint' })
  @ForeignKey('WebhookDelivery', { onDelete: 'CASCADE' })
  deliveryId!: number;

  /** That of the delivery, by which the attempts of a webhook are listed. */
  @Column({ type: 'bigint' })
  webhookId!: number;

  @CreateDateColumn({ type: 'timestamptz' })
  at!: Date;

  /** The status of the answer; null: there was none. */
  @Column({ type: 'integer', nullable: true })
  status!: number | null;

  @Column({ type: 'integer' })
  durationMs!: number;

  /** What the answer began with: its first 1,024 bytes, as text. */
  @Column({ type: 'text', nullable: true })
  answer!: string | null;

  /** Why there was no answer, or why it does not count; without the URL. Null: the event was delivered. */
  @Column({ type: 'text', nullable: true })
  error!: string | null;
}
