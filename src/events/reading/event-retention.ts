import { Injectable } from '@nestjs/common';
import { AppConfig } from '../../config';
import { Retention } from '../../work';

/** The name of the mark with the position up to which events were removed. */
export const REMOVED_EVENTS = 'events';

/**
 * Removes old events in the order of their positions, so that the mark shows exactly which cursors are too
 * old. Unpublished events stay.
 */
@Injectable()
export class EventRetention {
  constructor(retention: Retention, { retention: { eventDays } }: AppConfig) {
    retention.addWalk(
      REMOVED_EVENTS,
      eventDays,
      `next AS MATERIALIZED (
         SELECT id, position, at < now() - make_interval(days => $2) AS is_old
           FROM events WHERE position > $1 ORDER BY position LIMIT $3
       ),
       old AS MATERIALIZED (
         SELECT id, position FROM next
          WHERE position < coalesce((SELECT min(position) FROM next WHERE NOT is_old), 9223372036854775807)
       ),
       removed AS (DELETE FROM events WHERE id = ANY (ARRAY(SELECT id FROM old)) RETURNING 1),
       walked AS (SELECT (SELECT count(*) FROM removed) AS removed, (SELECT max(position) FROM old) AS last)`,
    );
  }
}
