import { Column, CreateDateColumn, Entity, PrimaryGeneratedColumn } from 'typeorm';
import type { IpVersion, ProxyType } from '../common';
import type { OrderKind, OrderState } from './order-states';

/** When an order came into a state: ISO 8601; null for orders from before the history was kept. */
export interface StateChange {
  readonly state: OrderState;
  readonly at: string | null;
}

/**
 * A delivered proxy as it was answered, kept for idempotent replays. Kept times are ISO 8601. Login and
 * password are removed after the replay window.
 */
export interface DeliveredProxy {
  readonly id: number;
  readonly host: string;
  readonly port: string;
  readonly login?: string;
  readonly password?: string;
  readonly date_start: string | Date | null;
  readonly date_end: string | Date | null;
  /** The label at the time of a prolongation. A purchase has none, nor has what earlier versions kept. */
  readonly descr?: string | null;
}

/**
 * A purchase or a prolongation. Amounts are roubles.
 */
@Entity('orders')
export class Order {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'BY DEFAULT' })
  id!: number;

  @Column({ type: 'bigint' })
  userId!: number;

  @Column({ type: 'text' })
  kind!: OrderKind;

  @Column({ type: 'text', default: 'reserved' })
  state!: OrderState;

  /**
   * The provider stores it with a purchase, which is found again by it. It names environment, user and order.
   */
  @Column({ type: 'text' })
  tag!: string;

  /**
   * The leader of the batch in which the order went to the provider: itself when it was sent alone, null
   * until then. The provider lists a purchase under the tag of the leader.
   */
  @Column({ type: 'bigint', nullable: true })
  batchId!: number | null;

  /** Set when the batch that the order was in was refused as a whole, and the order is sent once more. */
  @Column({ type: 'boolean', default: false })
  resent!: boolean;

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
  proxyId!: number | null;

  @Column({ type: 'numeric', precision: 14, scale: 2 })
  unitPrice!: string;

  /** Percent on the provider's price; null for orders from before there were price rules. */
  @Column({ type: 'numeric', precision: 8, scale: 4, nullable: true })
  markupPercent!: string | null;

  /** The price rule that set the markup; null: the default markup. */
  @Column({ type: 'bigint', nullable: true })
  priceRuleId!: number | null;

  @Column({ type: 'numeric', precision: 14, scale: 2 })
  held!: string;

  /** The caller's guard: the order is not placed for more. Null: none. */
  @Column({ type: 'numeric', precision: 14, scale: 2, nullable: true })
  maxPrice!: string | null;

  @Column({ type: 'numeric', precision: 14, scale: 2, default: 0 })
  captured!: string;

  @Column({ type: 'numeric', precision: 14, scale: 2, default: 0 })
  released!: string;

  /** The part of what was captured that staff gave back afterwards. */
  @Column({ type: 'numeric', precision: 14, scale: 2, default: 0 })
  refunded!: string;

  @Column({ type: 'text' })
  provider!: string;

  /** What the provider quoted for the whole order. */
  @Column({ type: 'numeric', precision: 14, scale: 4 })
  providerPrice!: string;

  /** What the provider took in fact. The user pays the quote all the same. */
  @Column({ type: 'numeric', precision: 14, scale: 4, nullable: true })
  providerCharge!: string | null;

  @Column({ type: 'text', nullable: true })
  providerOrderId!: string | null;

  /** Of a prolongation: the end of the rental at the provider, read right before the call. */
  @Column({ type: 'timestamptz', nullable: true })
  dateEndBefore!: Date | null;

  /** When a replica began to read that end: while it is missing, no other one does. */
  @Column({ type: 'timestamptz', nullable: true })
  endReadAt!: Date | null;

  @Column({ type: 'text', nullable: true })
  idempotencyKey!: string | null;

  @Column({ type: 'bytea', nullable: true })
  requestHash!: Buffer | null;

  /**
   * Set when the order was put back after a restore of the database: its idempotency key is not known. The
   * first unknown key that asks for the same is taken for it.
   */
  @Column({ type: 'boolean', default: false })
  keyForgotten!: boolean;

  @Column({ type: 'jsonb', nullable: true })
  answer!: DeliveredProxy[] | null;

  /** A `FailureReason` when the order was refunded; the reason for staff when it came to review. */
  @Column({ type: 'text', nullable: true })
  failure!: string | null;

  @Column({ type: 'text', nullable: true })
  requestId!: string | null;

  /** The API token that placed the order. */
  @Column({ type: 'bigint', nullable: true })
  tokenId!: number | null;

  /** Client-generated id: finds the order when the reply to its INSERT was lost. */
  @Column({ type: 'uuid', nullable: true })
  attempt!: string | null;

  /**
   * Client-generated id: finds the batch when the reply to its claim was lost. Orders that are sent once more
   * go together when they come from the same claim.
   */
  @Column({ type: 'uuid', nullable: true })
  claim!: string | null;

  @CreateDateColumn({ type: 'timestamptz' })
  createdAt!: Date;

  @Column({ type: 'timestamptz', nullable: true })
  submittedAt!: Date | null;

  /**
   * While `reserved`: when the request stops waiting. Afterwards: the last moment at which the call can have
   * gone out.
   */
  @Column({ type: 'timestamptz' })
  deadline!: Date;

  @Column({ type: 'timestamptz' })
  nextCheckAt!: Date;

  @Column({ type: 'integer', default: 0 })
  checks!: number;

  /** When the first of the latest complete checks that all found nothing began. */
  @Column({ type: 'timestamptz', nullable: true })
  nothingSeenSince!: Date | null;

  @Column({ type: 'timestamptz', nullable: true })
  closedAt!: Date | null;

  /** Appended by the database at each change of the state. */
  @Column({ type: 'jsonb', default: [] })
  history!: StateChange[];
}
