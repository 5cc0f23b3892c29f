import { Check, Column, Entity, ForeignKey, PrimaryColumn } from 'typeorm';

/**
 * A user's balance. Only the trigger on `ledger_entries` writes it. It is not part of `users`, because a
 * foreign key that pointed at this row would lock it on every insert elsewhere.
 */
@Entity('accounts')
@Check('accounts_available_check', 'available >= 0')
@Check('accounts_held_check', 'held >= 0')
export class Account {
  @PrimaryColumn({ type: 'bigint' })
  @ForeignKey('User')
  userId!: number;

  /** Roubles that can be spent. */
  @Column({ type: 'numeric', precision: 14, scale: 2, default: 0 })
  available!: string;

  /** Roubles held for orders whose outcome is open. */
  @Column({ type: 'numeric', precision: 14, scale: 2, default: 0 })
  held!: string;

  /** Roubles spent in total: captured, less what was refunded. */
  @Column({ type: 'numeric', precision: 14, scale: 2, default: 0 })
  spent!: string;

  /** The `seq` of the last entry. */
  @Column({ type: 'bigint', default: 0 })
  seq!: number;

  /** Roubles: the customer is told when less than this becomes available. Null: never. */
  @Column({ type: 'numeric', precision: 14, scale: 2, nullable: true })
  lowBalance!: string | null;
}
