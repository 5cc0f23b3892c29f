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
import type { FormatName } from '../proxies';

/** A URL with a secret of its own, by which a tool fetches an export without a token. */
@Entity('export_links')
@Unique(['secretHash'])
@Index('export_links_user_id_idx', ['userId', 'id'])
@Index('export_links_token_id_idx', ['tokenId'])
@Check('export_links_secret_hash_check', 'octet_length(secret_hash) = 32')
@Check('export_links_layout_check', 'num_nonnulls(format, template) = 1')
@Check('export_links_uses_check', 'uses >= 0')
export class ExportLink {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'BY DEFAULT' })
  id!: number;

  @Column({ type: 'bigint' })
  @ForeignKey('User')
  userId!: number;

  /** The token by which it was made. It works no longer than that token does. */
  @Column({ type: 'bigint' })
  @ForeignKey('ApiToken')
  tokenId!: number;

  /** SHA-256 of the whole secret. The secret itself is shown once and not stored. */
  @Column({ type: 'bytea' })
  secretHash!: Buffer;

  @Column({ type: 'text', nullable: true })
  descr!: string | null;

  /** Null: there is a template instead. */
  @Column({ type: 'text', nullable: true })
  format!: FormatName | null;

  @Column({ type: 'text', nullable: true })
  template!: string | null;

  /** The filter as the request had it, without what was null. */
  @Column({ type: 'jsonb' })
  filter!: object;

  /** The only networks from which the link may be fetched; null allows any address. */
  @Column({ type: 'cidr', array: true, nullable: true })
  networks!: string[] | null;

  @CreateDateColumn({ type: 'timestamptz' })
  createdAt!: Date;

  @Column({ type: 'timestamptz', nullable: true })
  expiresAt!: Date | null;

  @Column({ type: 'timestamptz', nullable: true })
  lastUsedAt!: Date | null;

  /** How often it was fetched, as far as replicas have noted it. */
  @Column({ type: 'bigint', default: 0 })
  uses!: number;
}
