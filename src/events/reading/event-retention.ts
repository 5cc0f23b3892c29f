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
    retention.addOldRows({
      name: REMOVED_EVENTS,
      table: 'events',
      key: 'position',
      time: 'at',
      days: eventDays,
      removal: 'DELETE FROM events WHERE position = ANY (ARRAY(SELECT id FROM old))',
    });
  }
}
