import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Clock } from '../../common';
import { queryRow } from '../../database';
import { Retention, type RetentionStep, STEP_ROWS } from '../../work';

const DAY_MS = 24 * 3600 * 1000;
/** Long enough to see in a list which ended link a program still fetched. */
const ENDED_LINK_DAYS = 30;

/** The end of a link: its own or its token's revocation, whichever is earlier; null without either. */
export const ENDED_AT = 'least(link.expires_at, token.revoked_at)';

/** Removes ended links after a time in which customers still see them and their last use. */
@Injectable()
export class LinksRetention {
  constructor(
    private readonly dataSource: DataSource,
    private readonly clock: Clock,
    retention: Retention,
  ) {
    retention.add<number>('links', (place) => this.step(place ?? 0));
  }

  /** Walks through all links by id: each step reads the same number of rows, however many have ended. */
  private step(after: number): Promise<RetentionStep<number>> {
    return queryRow<RetentionStep<number>>(
      this.dataSource,
      `WITH walked AS (
         SELECT link.id, coalesce(${ENDED_AT} < $1, false) AS is_over
           FROM (SELECT * FROM export_links WHERE id > $2 ORDER BY id LIMIT $3) AS link
           JOIN api_tokens token ON token.id = link.token_id
       ), removed AS (
         DELETE FROM export_links WHERE id IN (SELECT id FROM walked WHERE is_over) RETURNING 1
       )
       SELECT (SELECT count(*) FROM removed) AS removed, (SELECT max(id) FROM walked) AS next`,
      [new Date(this.clock.now().getTime() - ENDED_LINK_DAYS * DAY_MS), after, STEP_ROWS],
    );
  }
}
