import { Check, Column, CreateDateColumn, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';

/**
 * What a customer has asked to be prolonged together, under one idempotency key: the set that a repeated
 * request is about. Each proxy has an order of its own, under the key that `bulkOrderKey()` derives.
 */
@Entity('bulk_prolongations')
@Index('bulk_prolongations_tried_at_idx', ['triedAt'], { where: 'tried_at IS NOT NULL' })
@Check('bulk_prolongations_max_prices_check', 'cardinality(max_prices) = cardinality(proxy_ids)')
export class BulkProlongation {
  @PrimaryColumn({ type: 'bigint' })
  @ForeignKey('User')
  userId!: number;

  @PrimaryColumn({ type: 'text' })
  idempotencyKey!: string;

  @Column({ type: 'bytea' })
  requestHash!: Buffer;

  /** Those that were the customer's when the request came first, in the order asked. */
  @Column({ type: 'bigint', array: true })
  proxyIds!: number[];

  /** The guard of each order, in roubles. Together they are at most the guard of the request; null: none. */
  @Column({ type: 'numeric', precision: 14, scale: 2, array: true, nullable: true })
  maxPrices!: string[] | null;

  @CreateDateColumn({ type: 'timestamptz' })
  createdAt!: Date;

  /** When it was asked for last; null once it is known to have orders that hold or have spent money. */
  @Column({ type: 'timestamptz', nullable: true, default: () => 'now()' })
  triedAt!: Date | null;
}
