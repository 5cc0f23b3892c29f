import { Column, CreateDateColumn, Entity, PrimaryGeneratedColumn, Unique } from 'typeorm';

/** A proxy that the upstream lists under a tag of ours, and that no order accounts for. */
@Entity('orphans')
@Unique('orphans_provider_proxy_id_key', ['provider', 'providerProxyId'])
export class Orphan {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'BY DEFAULT' })
  id!: number;

  @Column({ type: 'text' })
  provider!: string;

  @Column({ type: 'text' })
  providerProxyId!: string;

  @Column({ type: 'text' })
  tag!: string;

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

  @Column({ type: 'text', nullable: true })
  country!: string | null;

  @Column({ type: 'text', nullable: true })
  version!: string | null;

  @Column({ type: 'timestamptz' })
  dateStart!: Date;

  @Column({ type: 'timestamptz' })
  dateEnd!: Date;

  @CreateDateColumn({ type: 'timestamptz' })
  foundAt!: Date;
}
