import { Column, Entity, Index, PrimaryGeneratedColumn } from 'typeorm';
import type { EventType } from './event-types';

/**
 * Something that happened to a user, written in the statement of its change: by triggers, or by whoever
 * decides it. It has no foreign key: a lock on its user, for each, would be the dearest part of it.
 */
@Entity('events')
@Index('events_user_position_key', ['userId', 'position'], { unique: true })
@Index('events_at_idx', ['at'])
@Index('events_position_idx', ['position'], { where: 'position IS NOT NULL' })
@Index('events_unpublished_idx', ['id'], { where: 'position IS NULL' })
export class LoggedEvent {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'BY DEFAULT' })
  id!: number;

  @Column({ type: 'bigint' })
  userId!: number;

  /** A newer replica may have written a type that this one does not know. */
  @Column({ type: 'text' })
  type!: EventType;

  /** As `event-types.ts` describes it. No login, password or secret is ever in it. */
  @Column({ type: 'jsonb' })
  data!: Record<string, unknown>;

  @Column({ type: 'timestamptz', default: () => 'clock_timestamp()' })
  at!: Date;

  /** Readers go on from it. Null until it is published, soon after its commit, by `publish_events.sql`. */
  @Column({ type: 'bigint', nullable: true })
  position!: number | null;
}
