import { Column, CreateDateColumn, Entity, PrimaryGeneratedColumn } from 'typeorm';

@Entity('users')
export class User {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'BY DEFAULT' })
  id!: number;

  /** What staff call the user. */
  @Column({ type: 'text', nullable: true })
  username!: string | null;

  /** What the user calls itself: the name on the messaging platform, as of the last sign-in that told one. */
  @Column({ type: 'text', nullable: true })
  telegramUsername!: string | null;

  /** Number on the messaging platform. */
  @Column({ type: 'bigint', nullable: true })
  tgId!: number | null;

  /** Login on the website. */
  @Column({ type: 'text', nullable: true })
  webUsername!: string | null;

  /** Whether the user has ever opened the companion application. */
  @Column({ type: 'boolean', default: false })
  hasApp!: boolean;

  @CreateDateColumn({ type: 'timestamptz' })
  createdAt!: Date;

  /** While set, none of the user's tokens is accepted. */
  @Column({ type: 'timestamptz', nullable: true })
  blockedAt!: Date | null;

  @Column({ type: 'text', nullable: true })
  blockedReason!: string | null;

  /** Grows with every change of what the user sees of their proxies. A trigger maintains it. */
  @Column({ type: 'bigint', default: 0 })
  proxiesRevision!: number;
}
