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
import type { IpVersion, ProxyType } from '../common';

export type OrderKind = 'purchase' | 'prolongation';

/**
 * `reserved`: money is held, nothing was sent. `submitting`: the one call is under way, or the process that made it is gone.
 * `confirming`: the outcome is unknown and being looked for. `review`: staff decide. The others are closed.
 */
export type OrderState =
  'reserved' | 'submitting' | 'confirming' | 'review' | 'completed' | 'partial' | 'refunded';

/** Since when an order was in a state: ISO 8601; null for one from before there was a history. */
export interface OrderStep {
  readonly state: OrderState;
  readonly at: string | null;
}

/** What was delivered, as it was answered: kept for orders with an idempotency key. Times are ISO 8601. */
export interface DeliveredProxy {
  readonly id: number;
  readonly host: string;
  readonly port: string;
  readonly login: string;
  readonly password: string;
  readonly date_start: string;
  readonly date_end: string;
}

/** A purchase or a prolongation. Amounts are roubles; `docs/decisions/0003-orders-and-money.md` has the states. */
@Entity('orders')
@Unique(['tag'])
@Unique(['attempt'])
@Index('orders_proxy_id_idx', ['proxyId'], { where: 'proxy_id IS NOT NULL' })
@Index('orders_group_id_idx', ['groupId'])
@Index('orders_served_idx', ['userId', 'submittedAt'], { where: 'submitted_at IS NOT NULL' })
@Index('orders_user_id_idx', ['userId', 'createdAt', 'id'])
@Index('orders_created_at_idx', ['createdAt', 'id'])
@Index('orders_state_idx', ['state', 'createdAt', 'id'], { where: `state <> 'completed'` })
@Index('orders_user_state_idx', ['userId', 'state', 'createdAt', 'id'], { where: `state <> 'completed'` })
@Index('orders_provider_order_id_idx', ['providerOrderId'], { where: 'provider_order_id IS NOT NULL' })
@Index('orders_request_id_idx', ['requestId'], { where: 'request_id IS NOT NULL' })
@Index('orders_closed_at_idx', ['closedAt'], { where: 'captured > 0' })
@Index('orders_idempotency_key', ['userId', 'idempotencyKey'], {
  unique: true,
  where: `idempotency_key IS NOT NULL AND state <> 'refunded'`,
})
@Index('orders_open_prolongation_key', ['proxyId'], {
  unique: true,
  where: `proxy_id IS NOT NULL AND state IN ('reserved', 'submitting', 'confirming', 'review')`,
})
@Index('orders_due_idx', ['nextLookAt'], { where: `state IN ('reserved', 'submitting', 'confirming')` })
@Check('orders_kind_check', `kind IN ('purchase', 'prolongation')`)
@Check(
  'orders_state_check',
  `state IN ('reserved', 'submitting', 'confirming', 'review', 'completed', 'partial', 'refunded')`,
)
@Check('orders_prolongation_check', `(kind = 'prolongation') = (proxy_id IS NOT NULL)`)
@Check('orders_price_check', 'unit_price > 0 AND count > 0 AND held = unit_price * count')
@Check(
  'orders_closed_check',
  `CASE state
    WHEN 'completed' THEN captured = held AND released = 0 AND closed_at IS NOT NULL
    WHEN 'partial' THEN captured > 0 AND released > 0 AND captured + released = held AND closed_at IS NOT NULL
    WHEN 'refunded' THEN captured = 0 AND released = held AND closed_at IS NOT NULL
    ELSE captured = 0 AND released = 0 AND closed_at IS NULL
  END`,
)
@Check('orders_refunded_check', 'refunded >= 0 AND refunded <= captured')
@Check('orders_price_rule_check', 'price_rule_id IS NULL OR markup_percent IS NOT NULL')
@Check('orders_idempotency_check', '(idempotency_key IS NULL) = (request_hash IS NULL)')
export class Order {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'BY DEFAULT' })
  id!: number;

  @Column({ type: 'bigint' })
  @ForeignKey('User')
  userId!: number;

  @Column({ type: 'text' })
  kind!: OrderKind;

  @Column({ type: 'text', default: 'reserved' })
  state!: OrderState;

  /** What the provider keeps with a purchase, by which it is found again. Names environment, user and order. */
  @Column({ type: 'text' })
  tag!: string;

  /**
   * The order that leads the group in which it went to the provider; itself when it went alone; null until then. A purchase is found
   * again under the tag of the leader.
   */
  @Column({ type: 'bigint', nullable: true })
  @ForeignKey('Order')
  groupId!: number | null;

  /** Its group was refused as a whole. */
  @Column({ type: 'boolean', default: false })
  travelsAlone!: boolean;

  @Column({ type: 'text' })
  country!: string;

  @Column({ type: 'text' })
  version!: IpVersion;

  /** Days. */
  @Column({ type: 'integer' })
  period!: number;

  @Column({ type: 'integer' })
  count!: number;

  @Column({ type: 'text' })
  proxyType!: ProxyType;

  /** Of a prolongation. */
  @Column({ type: 'bigint', nullable: true })
  @ForeignKey('Proxy')
  proxyId!: number | null;

  @Column({ type: 'numeric', precision: 14, scale: 2 })
  unitPrice!: string;

  /** Percent, on the provider's price. Null before there were price rules. */
  @Column({ type: 'numeric', precision: 8, scale: 4, nullable: true })
  markupPercent!: string | null;

  /** The rule that said so; null: the default. */
  @Column({ type: 'bigint', nullable: true })
  priceRuleId!: number | null;

  @Column({ type: 'numeric', precision: 14, scale: 2 })
  held!: string;

  @Column({ type: 'numeric', precision: 14, scale: 2, default: 0 })
  captured!: string;

  @Column({ type: 'numeric', precision: 14, scale: 2, default: 0 })
  released!: string;

  /** Of what was captured: what staff gave back afterwards. */
  @Column({ type: 'numeric', precision: 14, scale: 2, default: 0 })
  refunded!: string;

  @Column({ type: 'text' })
  provider!: string;

  /** What the provider quoted for the whole order. */
  @Column({ type: 'numeric', precision: 14, scale: 4 })
  providerPrice!: string;

  /** What it took. The user pays the quote all the same. */
  @Column({ type: 'numeric', precision: 14, scale: 4, nullable: true })
  providerCharge!: string | null;

  @Column({ type: 'text', nullable: true })
  providerOrderId!: string | null;

  /** Of a prolongation: the proxy's end at the provider right before the call. */
  @Column({ type: 'timestamptz', nullable: true })
  dateEndBefore!: Date | null;

  @Column({ type: 'text', nullable: true })
  idempotencyKey!: string | null;

  @Column({ type: 'bytea', nullable: true })
  requestHash!: Buffer | null;

  @Column({ type: 'jsonb', nullable: true })
  answer!: DeliveredProxy[] | null;

  /** Why it was refunded or came to review. */
  @Column({ type: 'text', nullable: true })
  failure!: string | null;

  @Column({ type: 'text', nullable: true })
  requestId!: string | null;

  /** With which it was placed. */
  @Column({ type: 'bigint', nullable: true })
  @ForeignKey('ApiToken')
  tokenId!: number | null;

  /** By which an order is found whose placing was not answered. */
  @Column({ type: 'uuid', nullable: true })
  attempt!: string | null;

  /** By which a group is found whose sending off was not answered. */
  @Column({ type: 'uuid', nullable: true })
  claim!: string | null;

  @CreateDateColumn({ type: 'timestamptz' })
  createdAt!: Date;

  @Column({ type: 'timestamptz', nullable: true })
  submittedAt!: Date | null;

  /** While `reserved`: when its request is given up. Afterwards: the last moment at which the call can have gone out. */
  @Column({ type: 'timestamptz' })
  deadline!: Date;

  @Column({ type: 'timestamptz' })
  nextLookAt!: Date;

  @Column({ type: 'integer', default: 0 })
  looks!: number;

  /** The first of the complete looks, without another between, that showed nothing of it. */
  @Column({ type: 'timestamptz', nullable: true })
  nothingSeenSince!: Date | null;

  @Column({ type: 'timestamptz', nullable: true })
  closedAt!: Date | null;

  /** Written by the database with each change of the state. */
  @Column({ type: 'jsonb', default: [] })
  history!: OrderStep[];
}
