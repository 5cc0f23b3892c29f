import { Check, Column, CreateDateColumn, Entity, Index, PrimaryGeneratedColumn, Unique } from 'typeorm';

/** A proxy that the provider lists under one of our tags, and that no order accounts for. */
@Entity('orphans')
@Index('orphans_tag_idx', ['tag'])
@Index('orphans_open_idx', ['id'], { where: 'resolution IS NULL' })
@Check(
  'orphans_resolution_check',
  `resolution IN ('assigned', 'written-off') AND (resolution IS NULL) = (resolved_at IS NULL)`,
)
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

  /** What staff decided; null: nothing yet. */
  @Column({ type: 'text', nullable: true })
  resolution!: 'assigned' | 'written-off' | null;

  @Column({ type: 'timestamptz', nullable: true })
  resolvedAt!: Date | null;
}
