import { Column, CreateDateColumn, Entity, PrimaryGeneratedColumn, Unique } from 'typeorm';

@Entity('users')
@Unique(['tgId'])
@Unique(['webUsername'])
export class User {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'BY DEFAULT' })
  id!: number;

  /** Name on the messaging platform. */
  @Column({ type: 'text', nullable: true })
  username!: string | null;

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
}
