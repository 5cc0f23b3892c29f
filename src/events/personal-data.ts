import type { PersonalData } from '../database';

/** The deliveries to webhooks, and their attempts, go with their events. */
export const EVENTS_DATA: PersonalData = {
  events: 'DELETE FROM events WHERE user_id = $1',
};
