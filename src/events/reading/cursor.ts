/**
 * A place in the log, opaque to callers: the id of any user's event. Events with a greater position come
 * after it.
 */
export const CURSOR_PATTERN = '^(now|evt_[0-9]{1,15})$';

/** The end of the log: only later events. */
const NOW = 'now';

const PREFIX = 'evt_';

/** The id of an event for customers, which is also a cursor. */
export const eventId = (position: number): string => `${PREFIX}${position}`;

/** The start: after a position, at the oldest event in the log, or at the end of the log. */
export type Beginning = number | 'oldest' | 'now';

/** @param text that matches {@link CURSOR_PATTERN}; null for the beginning of the log */
export function readCursor(text: string | null): Beginning {
  if (text === null) return 'oldest';
  return text === NOW ? NOW : Number(text.slice(PREFIX.length));
}
