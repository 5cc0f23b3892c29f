import type { PersonalData } from '../database';

/** Deleting events also deletes their webhook deliveries and the attempts. */
export const EVENTS_DATA: PersonalData = {
  events: 'DELETE FROM events WHERE user_id = $1',
};
