/** The days of the week in JavaScript's numbering. */
export const WEEKDAYS = [
  'sunday',
  'monday',
  'tuesday',
  'wednesday',
  'thursday',
  'friday',
  'saturday',
] as const;

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

/**
 * The last moment at or before `now` with this time of day (UTC) and, if given, on this weekday.
 *
 * @param minutes after midnight
 */
export function lastMoment(now: Date, minutes: number, weekday?: (typeof WEEKDAYS)[number]): Date {
  const today = Math.floor(now.getTime() / DAY_MS) * DAY_MS + minutes * MINUTE_MS;
  const moment = new Date(today <= now.getTime() ? today : today - DAY_MS);
  if (weekday === undefined) return moment;
  const daysAgo = (moment.getUTCDay() - WEEKDAYS.indexOf(weekday) + 7) % 7;
  return new Date(moment.getTime() - daysAgo * DAY_MS);
}
