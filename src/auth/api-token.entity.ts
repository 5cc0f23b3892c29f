import { Column, CreateDateColumn, Entity, PrimaryGeneratedColumn } from 'typeorm';

/** The issuer of a token: staff (or the command line), the customer, or a sign-in. */
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

  /** Roubles that its orders may spend in a UTC day; null for no limit. */
  @Column({ type: 'numeric', precision: 14, scale: 2, nullable: true })
  dailyLimit!: string | null;

  @Column({ type: 'text', default: 'staff' })
  origin!: TokenOrigin;

  /** The token that issued it; null if the command line or a sign-in did. */
  @Column({ type: 'bigint', nullable: true })
  issuedBy!: number | null;

  /**
   * The other tokens against whose daily limits its orders count: its ancestors with a limit. Otherwise a
   * token could spend its limit once more through each token that it issues.
   */
  @Column({ type: 'bigint', array: true, default: () => "'{}'" })
  limitedBy!: number[];
}
