import { Check, Column, CreateDateColumn, Entity, Index, PrimaryGeneratedColumn } from 'typeorm';
import { sqlList } from '../../database';

/** What happens to a row of `proxies` after its purchase, told apart by `note_proxy_changes()`. */
export const PROXY_CHANGES = [
  'moved',
  'credentials_changed',
  'type_changed',
  'end_changed',
  'withdrawn',
  'returned',
] as const;

/** A change of a proxy that its customer can see. A trigger writes it; no login and no password is in it. */
@Entity('proxy_changes')
@Index('proxy_changes_proxy_id_idx', ['proxyId', 'at', 'id'])
@Check('proxy_changes_kind_check', `kind IN ${sqlList(PROXY_CHANGES)}`)
export class ProxyChange {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'BY DEFAULT' })
  id!: number;

  @Column({ type: 'bigint' })
  proxyId!: number;

  @Column({ type: 'bigint' })
  userId!: number;

  /** The time of the transaction, which an order that is closed by it has as well. */
  @CreateDateColumn({ type: 'timestamptz' })
  at!: Date;

  @Column({ type: 'text' })
  kind!: (typeof PROXY_CHANGES)[number];

  /** As text: `host:port`, a type, or an end in ISO 8601. Null where there is nothing to show. */
  @Column({ type: 'text', nullable: true })
  before!: string | null;

  @Column({ type: 'text', nullable: true })
  after!: string | null;
}
