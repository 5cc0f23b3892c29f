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

/**
 * `topup` and `adjustment` come from staff; `hold` sets money aside for an order, `capture` spends it,
 * `release` gives it back; `refund` is given back by staff of what was captured.
 */
export type LedgerEntryKind = 'topup' | 'adjustment' | 'hold' | 'capture' | 'release' | 'refund';

/** One change of one balance. Append-only; a trigger fills in `seq` and both balances after the change. */
@Entity('ledger_entries')
@Unique(['userId', 'seq'])
// NULLS NOT DISTINCT, which TypeORM cannot describe.
@Index('ledger_entries_order_id_kind_key', { synchronize: false })
@Index('ledger_entries_created_at_idx', ['userId', 'createdAt', 'seq'])
// By an expression, which decorators cannot say.
@Index('ledger_entries_shown_kind_idx', { synchronize: false })
// Of another kind (BRIN), which decorators cannot say.
@Index('ledger_entries_time_idx', { synchronize: false })
@Index('ledger_entries_refunds_idx', ['createdAt'], { where: `kind = 'refund'` })
@Index('ledger_entries_action_id_key', ['actionId'], { unique: true, where: 'action_id IS NOT NULL' })
@Check(
  'ledger_entries_kind_check',
  `CASE kind
    WHEN 'topup' THEN available_delta > 0 AND held_delta = 0 AND order_id IS NULL
    WHEN 'adjustment' THEN available_delta <> 0 AND held_delta = 0
    WHEN 'hold' THEN available_delta < 0 AND held_delta = -available_delta AND order_id IS NOT NULL
    WHEN 'capture' THEN available_delta = 0 AND held_delta < 0 AND order_id IS NOT NULL
    WHEN 'release' THEN available_delta > 0 AND held_delta = -available_delta AND order_id IS NOT NULL
    WHEN 'refund' THEN available_delta > 0 AND held_delta = 0
      AND order_id IS NOT NULL AND action_id IS NOT NULL
    ELSE false
  END`,
)
export class LedgerEntry {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'BY DEFAULT' })
  id!: number;

  @Column({ type: 'bigint' })
  @ForeignKey('User')
  userId!: number;

  /** Numbers each user's entries from 1 without gaps. */
  @Column({ type: 'bigint' })
  seq!: number;

  @Column({ type: 'text' })
  kind!: LedgerEntryKind;

  @Column({ type: 'bigint', nullable: true })
  @ForeignKey('Order')
  orderId!: number | null;

  @Column({ type: 'numeric', precision: 14, scale: 2 })
  availableDelta!: string;

  @Column({ type: 'numeric', precision: 14, scale: 2 })
  heldDelta!: string;

  @Column({ type: 'numeric', precision: 14, scale: 2 })
  availableAfter!: string;

  @Column({ type: 'numeric', precision: 14, scale: 2 })
  heldAfter!: string;

  @Column({ type: 'text', nullable: true })
  reason!: string | null;

  /** An invoice or a ticket, where staff find more. */
  @Column({ type: 'text', nullable: true })
  reference!: string | null;

  /** The staff action that made the entry. */
  @Column({ type: 'bigint', nullable: true })
  @ForeignKey('AuditLogEntry')
  actionId!: number | null;

  @CreateDateColumn({ type: 'timestamptz' })
  createdAt!: Date;
}
