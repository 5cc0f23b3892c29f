import { toProxyOut } from './proxy-out.dto';

const NOW = new Date('2026-11-22T12:00:00Z');

const shown = (dateStart: Date | null, dateEnd: Date | null) => {
  const text = { host: 'h', port: '1', login: 'l', password: 'p', proxyType: 'http', country: 'ru' };
  const proxy = { ...text, id: 1, version: '6' as const, withdrawnAt: null, label: null };
  const { date_start: start, date_end: end, active } = toProxyOut({ ...proxy, dateStart, dateEnd }, NOW);
  return [start, end, active];
};

describe('a proxy as its customer sees it', () => {
  it('has the times of its own rental, not those of the one before', () => {
    const [one, other] = [new Date('2026-11-01T10:00:07Z'), new Date('2026-12-01T10:00:07.999Z')];
    const [first, second] = ['2026-11-01T10:00:07Z', '2026-12-01T10:00:07Z'];
    expect(shown(one, other)).toEqual([first, second, true]);
    expect(shown(other, one)).toEqual([second, first, false]);
    expect(shown(new Date(one), new Date(one))).toEqual([first, first, false]);
    expect(shown(null, other)).toEqual([null, second, true]);
    expect(shown(one, null)).toEqual([first, null, false]);
    expect(shown(one, other)).toEqual([first, second, true]);
  });

  it('follows a time that was changed in place', () => {
    const end = new Date('2026-12-01T00:00:00Z');
    expect(shown(null, end)).toEqual([null, '2026-12-01T00:00:00Z', true]);
    end.setUTCDate(2);
    expect(shown(null, end)).toEqual([null, '2026-12-02T00:00:00Z', true]);
  });
});
