import { Column, CreateDateColumn, Entity, ForeignKey, Index, PrimaryGeneratedColumn } from 'typeorm';
import type { ProviderCallRecord } from '../provider';

/** What a call to the provider for an order asked and answered, without keys and passwords. */
@Entity('upstream_calls')
@Index('upstream_calls_order_id_idx', ['orderId'])
export class ProviderCall {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'BY DEFAULT' })
  id!: number;

  @Column({ type: 'bigint' })
  @ForeignKey('Order')
  orderId!: number;

  @Column({ type: 'text' })
  method!: string;

  @Column({ type: 'jsonb' })
  request!: Readonly<Record<string, string>>;

  @Column({ type: 'text' })
  outcome!: ProviderCallRecord['outcome'];

  @Column({ type: 'integer', nullable: true })
  httpStatus!: number | null;

  /** JSON as the provider's, which may hold what jsonb refuses, `"\\u0000"` for one. */
  @Column({ type: 'text', nullable: true })
  answerJson!: string | null;

  @Column({ type: 'integer' })
  durationMs!: number;

  @CreateDateColumn({ type: 'timestamptz' })
  createdAt!: Date;
}
