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

@Entity('api_tokens')
@Unique(['tokenHash'])
@Index('api_tokens_user_id_idx', ['userId'])
@Check('api_tokens_daily_limit_check', 'daily_limit > 0')
export class ApiToken {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'BY DEFAULT' })
  id!: number;

  @Column({ type: 'bigint' })
  @ForeignKey('User')
  userId!: number;

  /** SHA-256 of the whole token; the token itself is shown once and not kept. */
  @Column({ type: 'bytea' })
  tokenHash!: Buffer;

  @Column({ type: 'text', nullable: true })
  name!: string | null;

  @Column({ type: 'text', array: true })
  scopes!: string[];

  @CreateDateColumn({ type: 'timestamptz' })
  createdAt!: Date;

  @Column({ type: 'timestamptz', nullable: true })
  expiresAt!: Date | null;

  @Column({ type: 'timestamptz', nullable: true })
  revokedAt!: Date | null;

  /** To the minute. */
  @Column({ type: 'timestamptz', nullable: true })
  lastUsedAt!: Date | null;

  /** Networks from which alone it may be used; null: from anywhere. */
  @Column({ type: 'cidr', array: true, nullable: true })
  allowedIps!: string[] | null;

  /** Roubles that its orders may take in a day of UTC; null: no limit of its own. */
  @Column({ type: 'numeric', precision: 14, scale: 2, nullable: true })
  dailyLimit!: string | null;
}
