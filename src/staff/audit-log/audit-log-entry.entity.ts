import { Check, Column, CreateDateColumn, Entity, ForeignKey, Index, PrimaryGeneratedColumn } from 'typeorm';

/** A record of the audit log, which is append-only. */
@Entity('staff_actions')
@Index('staff_actions_at_idx', ['at', 'id'])
@Index('staff_actions_user_id_idx', ['userId', 'at', 'id'])
@Index('staff_actions_user_action_idx', ['userId', 'action', 'at', 'id'])
@Index('staff_actions_action_idx', ['action', 'at', 'id'])
@Index('staff_actions_token_id_idx', ['tokenId'], { where: 'token_id IS NOT NULL' })
@Index('staff_actions_target_idx', ['targetType', 'targetId', 'at', 'id'])
// Null counts as a value in this index, which TypeORM cannot describe.
@Index('staff_actions_idempotency_key', { synchronize: false })
@Check(
  'staff_actions_via_check',
  `CASE via
    WHEN 'api' THEN user_id IS NOT NULL AND token_id IS NOT NULL
    WHEN 'cli' THEN user_id IS NULL AND token_id IS NULL
    ELSE false
  END`,
)
@Check('staff_actions_target_check', '(target_type IS NULL) = (target_id IS NULL)')
@Check('staff_actions_idempotency_check', '(idempotency_key IS NULL) = (request_hash IS NULL)')
export class AuditLogEntry {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'BY DEFAULT' })
  id!: number;

  @CreateDateColumn({ type: 'timestamptz' })
  at!: Date;

  /** `cli`: on the command line, where it is not known who acts. */
  @Column({ type: 'text' })
  via!: 'api' | 'cli';

  @Column({ type: 'bigint', nullable: true })
  @ForeignKey('User')
  userId!: number | null;

  @Column({ type: 'bigint', nullable: true })
  @ForeignKey('ApiToken')
  tokenId!: number | null;

  @Column({ type: 'text' })
  action!: string;

  @Column({ type: 'text', nullable: true })
  targetType!: string | null;

  @Column({ type: 'text', nullable: true })
  targetId!: string | null;

  @Column({ type: 'text', nullable: true })
  reason!: string | null;

  /** The query and the body of the request. */
  @Column({ type: 'jsonb' })
  request!: object;

  @Column({ type: 'jsonb', nullable: true })
  before!: object | null;

  @Column({ type: 'jsonb', nullable: true })
  after!: object | null;

  /** What the request was refused with; null when it was carried out. */
  @Column({ type: 'text', nullable: true })
  refusal!: string | null;

  @Column({ type: 'inet', nullable: true })
  ip!: string | null;

  @Column({ type: 'text', nullable: true })
  requestId!: string | null;

  @Column({ type: 'text', nullable: true })
  idempotencyKey!: string | null;

  @Column({ type: 'bytea', nullable: true })
  requestHash!: Buffer | null;
}
