import { Injectable, Logger } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Clock } from '../common';
import { JobLease, queryRows } from '../database';

/** How many links were removed. */
export interface EndedLinksReport {
  readonly removed: number;
}

/** A batch takes well below a second, so a run that is silent for this long is dead. */
const LEASE_SECONDS = 60;
const BATCH_SIZE = 1000;

/** For so long customers still see a link that has ended, and when it was last used. */
const SHOWN_DAYS = 30;
const DAY_MS = 24 * 3600 * 1000;

/** When a link has ended: by itself, or with its token. Null: it has not. */
export const ENDED_AT = 'least(link.expires_at, token.revoked_at)';

/** Removes links some time after they have ended. */
@Injectable()
export class EndedLinksService {
  private readonly logger = new Logger(EndedLinksService.name);
  private readonly lease: JobLease;

  constructor(
    private readonly dataSource: DataSource,
    private readonly clock: Clock,
  ) {
    this.lease = new JobLease(dataSource, 'ended-links');
  }

  /** Does it when it is due and no other replica does it; gives null otherwise. */
  removeWhenDue(intervalSeconds: number): Promise<EndedLinksReport | null> {
    return this.lease.runWhenDue({ intervalSeconds, leaseSeconds: LEASE_SECONDS }, () => this.remove());
  }

  /** Walks through all links by id: each step reads as many rows, however many have ended. */
  private async remove(): Promise<EndedLinksReport> {
    const report = { removed: 0 };
    const before = new Date(this.clock.now().getTime() - SHOWN_DAYS * DAY_MS);
    let last: number | null = 0;
    while (last !== null) {
      await this.lease.renew(report);
      const [step]: { removed: number; last: number | null }[] = await queryRows(
        this.dataSource,
        `WITH walked AS (
           SELECT link.id, coalesce(${ENDED_AT} < $1, false) AS is_over
             FROM (SELECT * FROM export_links WHERE id > $2 ORDER BY id LIMIT $3) AS link
             JOIN api_tokens token ON token.id = link.token_id
         ), removed AS (
           DELETE FROM export_links WHERE id IN (SELECT id FROM walked WHERE is_over) RETURNING 1
         )
         SELECT (SELECT count(*) FROM removed) AS removed, (SELECT max(id) FROM walked) AS last`,
        [before, last, BATCH_SIZE],
      );
      report.removed += step?.removed ?? 0;
      last = step?.last ?? null;
    }
    if (report.removed > 0) this.logger.log(`${report.removed} links that ended long ago were removed`);
    return report;
  }
}
