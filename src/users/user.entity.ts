import { Column, CreateDateColumn, Entity, PrimaryGeneratedColumn } from 'typeorm';

@Entity('users')
export class User {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'BY DEFAULT' })
  id!: number;

  /** The name that staff gave the user. */
  @Column({ type: 'text', nullable: true })
  username!: string | null;

  /** The user's own name on the messaging platform, from the last sign-in that had one. */
  @Column({ type: 'text', nullable: true })
  telegramUsername!: string | null;

  /** The user's id on the messaging platform. */
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

  /** While set, all tokens of the user are refused. */
  @Column({ type: 'timestamptz', nullable: true })
  blockedAt!: Date | null;

  @Column({ type: 'text', nullable: true })
  blockedReason!: string | null;

  /** The list revision: grows with every visible change of the user's proxies. A trigger maintains it. */
  @Column({ type: 'bigint', default: 0 })
  proxiesRevision!: number;
}
