import type { PersonalData } from '../database';

/** Deleting an event also deletes its webhook deliveries and their attempts. */
export const EVENTS_DATA: PersonalData = {
  events: 'DELETE FROM events WHERE user_id = $1',
};
