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
import type { SkipReason } from './decide';

/**
 * - `planned`: it is due at a time to come.
 * - `placed`: its order is open.
 * - `done`: charged, and carried out.
 * - `skipped`: it was its turn, and it was not renewed. It is tried again at `nextTryAt`, or, when that is
 *   null, is not needed any more.
 * - `failed`: it was not renewed, and is not tried again.
 */
export const RENEWAL_STATES = ['planned', 'placed', 'done', 'skipped', 'failed'] as const;
export type RenewalState = (typeof RENEWAL_STATES)[number];

const IS_OPEN = "state IN ('planned', 'skipped')";

/** The renewal of one rental: of a proxy, and of the end that it has before. */
@Entity('renewals')
@Unique('renewals_proxy_id_date_end_before_key', ['proxyId', 'dateEndBefore'])
@Unique('renewals_order_id_key', ['orderId'])
@Index('renewals_user_id_idx', ['userId', 'id'])
@Index('renewals_due_idx', ['nextTryAt', 'dateEndBefore', 'proxyId'], { where: IS_OPEN })
@Index('renewals_open_idx', ['dateEndBefore', 'id'], { where: IS_OPEN })
@Index('renewals_placed_idx', ['id'], { where: "state = 'placed'" })
@Index('renewals_spent_idx', ['userId', 'chargedAt', 'price'], { where: "state IN ('placed', 'done')" })
@Index('renewals_due_at_idx', ['dueAt', 'state', 'reason'])
@Index('renewals_state_idx', ['state', 'id'])
@Index('renewals_rule_id_idx', ['ruleId'])
@Index('renewals_reason_idx', ['reason', 'id'], { where: 'reason IS NOT NULL' })
@Check('renewals_state_check', `state IN ${sqlList(RENEWAL_STATES)}`)
@Check(
  'renewals_order_check',
  "state NOT IN ('placed', 'done') OR (order_id IS NOT NULL AND price IS NOT NULL)",
)
@Check('renewals_charged_check', "(state = 'done') = (charged_at IS NOT NULL)")
@Check('renewals_reason_check', "state NOT IN ('skipped', 'failed') OR reason IS NOT NULL")
export class Renewal {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'BY DEFAULT' })
  id!: number;

  @Column({ type: 'bigint' })
  @ForeignKey('Proxy')
  proxyId!: number;

  @Column({ type: 'timestamptz' })
  dateEndBefore!: Date;

  @Column({ type: 'bigint' })
  @ForeignKey('User')
  userId!: number;

  /** The rule that held when it was last looked at. */
  @Column({ type: 'bigint' })
  @ForeignKey('RenewalRule')
  ruleId!: number;

  /** Of several tries, the last order. */
  @Column({ type: 'bigint', nullable: true })
  @ForeignKey('Order')
  orderId!: number | null;

  @Column({ type: 'text', default: 'planned' })
  state!: RenewalState;

  @Column({ type: 'text', nullable: true })
  reason!: SkipReason | null;

  /** Days. */
  @Column({ type: 'integer' })
  period!: number;

  /** What its order holds, and, once it is done, what was charged. */
  @Column({ type: 'numeric', precision: 14, scale: 2, nullable: true })
  price!: string | null;

  /** See `dueAt()`. */
  @Column({ type: 'timestamptz' })
  dueAt!: Date;

  /** Null: nothing more is to be done but, when it is placed, to read the order. */
  @Column({ type: 'timestamptz', nullable: true })
  nextTryAt!: Date | null;

  /** How often it was skipped for this reason: the pauses between tries grow with it. */
  @Column({ type: 'bigint', default: 0 })
  tries!: number;

  /** How many days ahead its customer was last told that it will not work out: 7, 3 or 1. */
  @Column({ type: 'integer', nullable: true })
  lastToldDays!: number | null;

  /** The month (UTC) of this moment is the one whose budget the renewal uses. */
  @Column({ type: 'timestamptz', nullable: true })
  chargedAt!: Date | null;

  @CreateDateColumn({ type: 'timestamptz' })
  createdAt!: Date;

  @Column({ type: 'timestamptz', nullable: true })
  closedAt!: Date | null;
}
