export const SUNDAY = 0;

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

/** Returns the latest moment up to `now` that is `minutes` after midnight UTC (on `weekday`, if given). */
export function lastMoment(now: Date, minutes: number, weekday?: number): Date {
  const today = Math.floor(now.getTime() / DAY_MS) * DAY_MS + minutes * MINUTE_MS;
  const moment = new Date(today <= now.getTime() ? today : today - DAY_MS);
  if (weekday === undefined) return moment;
  const daysAgo = (moment.getUTCDay() - weekday + 7) % 7;
  return new Date(moment.getTime() - daysAgo * DAY_MS);
}
