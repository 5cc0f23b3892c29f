import { Check, Column, CreateDateColumn, Entity, Index, PrimaryGeneratedColumn, Unique } from 'typeorm';
import { IP_VERSIONS, PROXY_TYPES } from '../common';
import { sqlList } from '../database';

/** A proxy that a user has rented. */
@Entity('proxies')
@Unique('proxies_provider_proxy_id_key', ['provider', 'providerProxyId'])
@Index('proxies_user_id_idx', ['userId', 'id'])
@Index('proxies_order_id_idx', ['orderId'])
@Index('proxies_expiring_idx', ['dateEnd'], { where: 'active' })
@Index('proxies_inactive_idx', ['dateEnd'], { where: 'NOT active AND withdrawn_at IS NULL' })
@Index('proxies_host_idx', ['host', 'orderId'])
@Check('proxies_assigned_check', '(tag IS NULL) = (assigned_action_id IS NULL)')
@Check('proxies_proxy_type_check', `proxy_type IN ${sqlList(PROXY_TYPES)}`)
@Check('proxies_version_check', `version IN ${sqlList(IP_VERSIONS)}`)
export class Proxy {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'BY DEFAULT' })
  id!: number;

  /** That of the order. What a proxy refers to is checked by a trigger, once a statement. */
  @Column({ type: 'bigint' })
  userId!: number;

  /** The purchase that it came with. */
  @Column({ type: 'bigint' })
  orderId!: number;

  @Column({ type: 'text' })
  provider!: string;

  /** The provider's number of it; never shown to customers. */
  @Column({ type: 'text' })
  providerProxyId!: string;

  /** Of one that staff assigned: the tag it is listed under provider, which need not be that of its order. */
  @Column({ type: 'text', nullable: true })
  tag!: string | null;

  /** What staff did to hand it over, beyond what its order was charged for. */
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

  @Column({ type: 'timestamptz', nullable: true })
  dateStart!: Date | null;

  @Column({ type: 'timestamptz', nullable: true })
  dateEnd!: Date | null;

  /**
   * For staff and reports, refreshed now and then. Customers are told whether `dateEnd` lies ahead at the moment of the answer, and
   * it was not withdrawn.
   */
  @Column({ type: 'boolean', default: true })
  active!: boolean;

  /** In how many full sweeps in a row the provider did not list it, up to 2: not believed before the second. */
  @Column({ type: 'smallint', default: 0 })
  absences!: number;

  /** When it was found that the provider has taken it away: it no longer works, whatever its end. Null again once it is listed. */
  @Column({ type: 'timestamptz', nullable: true })
  withdrawnAt!: Date | null;

  @Column({ type: 'text', nullable: true })
  descr!: string | null;

  @CreateDateColumn({ type: 'timestamptz' })
  createdAt!: Date;
}
