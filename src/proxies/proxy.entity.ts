import { Column, CreateDateColumn, Entity, PrimaryGeneratedColumn } from 'typeorm';

/** A proxy that a user has rented. */
@Entity('proxies')
export class Proxy {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'BY DEFAULT' })
  id!: number;

  /** The user of the order. A trigger checks what a proxy refers to, see `check_proxy_references.sql`. */
  @Column({ type: 'bigint' })
  userId!: number;

  /** The purchase that delivered it. */
  @Column({ type: 'bigint' })
  orderId!: number;

  @Column({ type: 'text' })
  provider!: string;

  /** The provider's id of the proxy; never shown to customers. */
  @Column({ type: 'text' })
  providerProxyId!: string;

  /** Set when staff assigned the proxy: the provider's tag of it, which may differ from that of its order. */
  @Column({ type: 'text', nullable: true })
  tag!: string | null;

  /** The action by which staff assigned it, beyond what its order was charged for. */
  @Column({ type: 'bigint', nullable: true })
  assignedActionId!: number | null;

  @Column({ type: 'text' })
  host!: string;

  @Column({ type: 'text' })
  port!: string;

  @Column({ type: 'text' })
  login!: string;

  @Column({ type: 'text' })
  password!: string;

  @Column({ type: 'text' })
  proxyType!: string;

  @Column({ type: 'text' })
  country!: string;

  @Column({ type: 'text' })
  version!: string;

  /** Days of the last order that was delivered for it. Null: that order was before this was kept. */
  @Column({ type: 'integer', nullable: true })
  period!: number | null;

  @Column({ type: 'timestamptz', nullable: true })
  dateStart!: Date | null;

  @Column({ type: 'timestamptz', nullable: true })
  dateEnd!: Date | null;

  /**
   * For staff and reports, refreshed now and then. Customers are told at each answer whether `dateEnd` lies
   * in the future and the proxy was not withdrawn.
   */
  @Column({ type: 'boolean', default: true })
  active!: boolean;

  /**
   * Stages before the end of this many hours or more are not announced any more: they were, or the rental was
   * shorter. A trigger begins anew when the end moves: see `begin_stages.sql`.
   */
  @Column({ type: 'integer', default: 32_767 })
  toldHours!: number;

  /** Full sweeps in a row in which the provider did not list it, up to 2. The second one withdraws it. */
  @Column({ type: 'smallint', default: 0 })
  absences!: number;

  /** When the provider was found to have taken it away, whatever its end. Null again once it is listed. */
  @Column({ type: 'timestamptz', nullable: true })
  withdrawnAt!: Date | null;

  /** The customer's own label. It is never sent to the provider, whose `descr` is the {@link tag}. */
  @Column({ type: 'text', nullable: true })
  descr!: string | null;

  /** The customer's own tags: see `normalTags()`. They have nothing to do with the provider's {@link tag}. */
  @Column({ type: 'text', array: true, default: [] })
  tags!: string[];

  @CreateDateColumn({ type: 'timestamptz' })
  createdAt!: Date;
}
