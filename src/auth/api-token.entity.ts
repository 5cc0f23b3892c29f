import { Column, CreateDateColumn, Entity, PrimaryGeneratedColumn } from 'typeorm';

/** How a token came about: staff (or the command line) issued it, the customer did, or a sign-in. */
export type TokenOrigin = 'staff' | 'customer' | 'sign-in';

@Entity('api_tokens')
export class ApiToken {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'BY DEFAULT' })
  id!: number;

  @Column({ type: 'bigint' })
  userId!: number;

  /** SHA-256 of the whole token. The token itself is shown once and not stored. */
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

  /** Accurate to the minute. */
  @Column({ type: 'timestamptz', nullable: true })
  lastUsedAt!: Date | null;

  /** The only networks from which the token may be used; null allows any address. */
  @Column({ type: 'cidr', array: true, nullable: true })
  allowedIps!: string[] | null;

  /** Roubles that its orders may spend in a UTC day; null means no limit. */
  @Column({ type: 'numeric', precision: 14, scale: 2, nullable: true })
  dailyLimit!: string | null;

  @Column({ type: 'text', default: 'staff' })
  origin!: TokenOrigin;

  /** The token by which it was issued; null: it was issued on the command line, or by a sign-in. */
  @Column({ type: 'bigint', nullable: true })
  issuedBy!: number | null;

  /**
   * The tokens whose daily limits its orders count against besides its own: all those by which it came about,
   * as far as they had a limit. Otherwise a token could spend its limit once more by each one that it issues.
   */
  @Column({ type: 'bigint', array: true, default: () => "'{}'" })
  limitedBy!: number[];
}
