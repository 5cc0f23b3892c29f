import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Clock } from '../../common';
import { queryRows } from '../../database';

interface Uses {
  count: number;
  lastAt: Date;
}

/**
 * Counts uses in memory and writes them at intervals, so that no request waits. A crash loses some counts.
 */
@Injectable()
export class LinkUses implements OnModuleDestroy {
  private counted = new Map<number, Uses>();

  constructor(
    private readonly dataSource: DataSource,
    private readonly clock: Clock,
  ) {}

  note(linkId: number): void {
    this.add(linkId, { count: 1, lastAt: this.clock.now() });
  }

  /** After a failure, the next call writes the counts. */
  async write(): Promise<void> {
    if (this.counted.size === 0) return;
    const taken = [...this.counted];
    this.counted = new Map();
    try {
      // Lock the rows in order, so that replicas do not deadlock.
      await queryRows(
        this.dataSource,
        `WITH locked AS (SELECT id FROM export_links WHERE id = ANY ($1) ORDER BY id FOR NO KEY UPDATE)
         UPDATE export_links link
            SET uses = uses + counted.count, last_used_at = greatest(last_used_at, counted.last_at)
           FROM locked JOIN unnest($1::bigint[], $2::bigint[], $3::timestamptz[])
                              AS counted (id, count, last_at) USING (id)
          WHERE link.id = locked.id`,
        [taken.map(([id]) => id), taken.map(([, { count }]) => count), taken.map(([, { lastAt }]) => lastAt)],
      );
    } catch (error) {
      for (const [id, uses] of taken) this.add(id, uses);
      throw error;
    }
  }

  async onModuleDestroy(): Promise<void> {
    await this.write();
  }

  private add(linkId: number, { count, lastAt }: Uses): void {
    const before = this.counted.get(linkId);
    if (before) {
      before.count += count;
      if (lastAt > before.lastAt) before.lastAt = lastAt;
    } else this.counted.set(linkId, { count, lastAt });
  }
}
