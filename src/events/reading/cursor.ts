/**
 * A place in the log, for callers an opaque text: the id of an event, of whomever. Events come after it that
 * have a greater position.
 */
export const CURSOR_PATTERN = '^(now|evt_[0-9]{1,15})$';

/** Stands for the end of the log: only what comes. */
const NOW = 'now';

const PREFIX = 'evt_';

/** The id of an event as customers see it, which is a cursor as well. */
export const eventId = (position: number): string => `${PREFIX}${position}`;

/** Where to begin: after a position, at the oldest event that is kept, or at the end of the log. */
export type Beginning = number | 'oldest' | 'now';

/** @param text that matches {@link CURSOR_PATTERN}; null: the beginning of the log */
export function readCursor(text: string | null): Beginning {
  if (text === null) return 'oldest';
  return text === NOW ? NOW : Number(text.slice(PREFIX.length));
}
