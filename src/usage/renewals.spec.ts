import { Money } from '../common';
import { firstUnpaidDay, HORIZON_DAYS } from './renewals';

const renewal = (day: number, period: number, roubles: string) => ({
  day,
  period,
  cost: Money.parse(roubles),
});

describe('A balance', () => {
  it.each([
    ['that has nothing to pay lasts', '0', [], null],
    ['lasts until the day that it cannot pay', '10', [renewal(3, 30, '10.01')], 3],
    ['lasts until the second renewal', '10', [renewal(3, 30, '10')], 33],
    ['pays in the order of ends', '10', [renewal(5, 365, '6'), renewal(2, 3, '4')], 5],
    ['pays each rental again and again', '100', [renewal(0, 3, '10')], 30],
    ['lasts when it pays for all within the horizon', '10', [renewal(0, HORIZON_DAYS, '10')], null],
    ['does not last when one more day counts', '10', [renewal(0, HORIZON_DAYS - 1, '10')], HORIZON_DAYS - 1],
    ['is not asked beyond the horizon', '0', [renewal(HORIZON_DAYS, 30, '10')], null],
  ])('%s', (_, balance, renewals, day) => {
    expect(firstUnpaidDay(Money.parse(balance), renewals)).toBe(day);
  });
});
