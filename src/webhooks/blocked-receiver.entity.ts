import { CreateDateColumn, Entity, ForeignKey, PrimaryColumn } from 'typeorm';

/** Staff switched a webhook of the user off: nothing is sent there for them, whatever webhooks they make. */
@Entity('blocked_receivers')
export class BlockedReceiver {
  @PrimaryColumn({ type: 'bigint' })
  @ForeignKey('User')
  userId!: number;

  /** Host and port, as `receiverOf` writes them. */
  @PrimaryColumn({ type: 'text' })
  receiver!: string;

  @CreateDateColumn({ type: 'timestamptz' })
  createdAt!: Date;
}
