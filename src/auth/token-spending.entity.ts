import { Check, Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';

/**
 * What the orders of a token with a daily limit have spent in a UTC day, less what was released or refunded.
 * The statements that change the orders also write this table.
 */
@Entity('token_spending')
@Index('token_spending_day_idx', ['day'])
@Check('token_spending_limit_check', 'spent >= 0 AND spent <= day_limit')
export class TokenSpending {
  @PrimaryColumn({ type: 'bigint' })
  @ForeignKey('ApiToken')
  tokenId!: number;

  @PrimaryColumn({ type: 'date' })
  day!: string;

  @Column({ type: 'numeric', precision: 14, scale: 2 })
  spent!: string;

  @Column({ type: 'numeric', precision: 14, scale: 2 })
  dayLimit!: string;
}
