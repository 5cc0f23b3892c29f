import { lastMoment, SUNDAY } from './audit-times';

const at = (text: string) => new Date(`${text}Z`);

describe('an audit is due', () => {
  it.each([
    ['2026-11-22T03:30:00', '2026-11-22T03:30:00'],
    ['2026-11-22T03:29:59', '2026-11-21T03:30:00'],
    ['2026-11-22T23:59:59', '2026-11-22T03:30:00'],
    ['2026-01-01T00:00:00', '2025-12-31T03:30:00'],
  ])('each day: at %s since %s', (now, moment) => {
    expect(lastMoment(at(now), 210)).toEqual(at(moment));
  });

  it.each([
    // 2026-11-22 is a Sunday.
    ['2026-11-22T03:30:00', '2026-11-22T03:30:00'],
    ['2026-11-22T03:29:59', '2026-11-15T03:30:00'],
    ['2026-11-28T12:00:00', '2026-11-22T03:30:00'],
  ])('on Sundays: at %s since %s', (now, moment) => {
    expect(lastMoment(at(now), 210, SUNDAY)).toEqual(at(moment));
  });
});
