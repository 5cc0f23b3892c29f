import { ALL_SCOPES, ALL_STAFF_SCOPES, USUAL_SCOPES } from '../auth';
import {
  parseAmount,
  parseAmountAboveZero,
  parseDay,
  parseDimensions,
  parseDurationMs,
  parseId,
  parseMoment,
  parseNetworks,
  parseScopes,
  parseTarget,
  parseText,
} from './options';

describe('an id on the command line', () => {
  it.each(['1', '42', '9007199254740991'])('is a positive whole number: %s', (text) => {
    expect(String(parseId(text))).toBe(text);
  });

  it.each(['', '0', '-1', '+1', '01', '1.0', '1e3', '0x1', ' 1', 'one', '9007199254740992', '9'.repeat(30)])(
    'is refused when it is not one, or not exact in JSON: %j',
    (text) => {
      expect(() => parseId(text)).toThrow('must be a positive whole number.');
    },
  );
});

describe('scopes on the command line', () => {
  it('are separated by commas, and each counts once', () => {
    expect(parseScopes('profile:read, proxies:read,profile:read')).toEqual(['profile:read', 'proxies:read']);
  });

  it('are those of customers with the word `all`, but for the one that has to be named', () => {
    expect(parseScopes('all')).toEqual(USUAL_SCOPES);
    expect(parseScopes('all,tokens:write')).toEqual(ALL_SCOPES);
    expect(USUAL_SCOPES).toHaveLength(8);
  });

  it('are those of staff with the word `staff`, which grants nothing of a customer', () => {
    expect(parseScopes('staff')).toEqual(ALL_STAFF_SCOPES);
    expect(parseScopes('staff:users')).toEqual(['staff:users']);
    expect(parseScopes('all,staff,profile:read')).toEqual([...USUAL_SCOPES, ...ALL_STAFF_SCOPES]);
  });

  it.each(['', 'profile', 'profile:write', 'profile:read,', 'staff:', 'PROFILE:READ'])(
    'are refused when one is unknown: %j',
    (text) => {
      expect(() => parseScopes(text)).toThrow(
        `known scopes: all, ${ALL_SCOPES.join(', ')}, staff, ${ALL_STAFF_SCOPES.join(', ')}.`,
      );
    },
  );
});

describe('a duration on the command line', () => {
  it.each([
    ['90m', 90 * 60_000],
    ['12h', 12 * 3_600_000],
    ['30d', 30 * 86_400_000],
  ])('is a number with its unit: %s', (text, durationMs) => {
    expect(parseDurationMs(text)).toBe(durationMs);
  });

  it.each(['', '30', 'd', '0d', '-1d', '1.5h', '30 d', '30D', '1w', '30d12h', '100000d'])(
    'is refused in another form: %j',
    (text) => {
      expect(() => parseDurationMs(text)).toThrow('minutes, hours or days');
    },
  );
});

describe('an amount on the command line', () => {
  it.each([
    ['500', '500.00'],
    ['500.5', '500.50'],
    ['0.01', '0.01'],
    ['1.100', '1.10'],
  ])('is read to the kopeck: %s', (text, amount) => {
    expect(parseAmount(text).toString()).toBe(amount);
  });

  it.each(['', '1.001', '1,50', '1e3', '.5', '5.', '+5', '5 RUB', 'NaN', 'Infinity'])(
    'is refused when it is not roubles with at most two decimals: %j',
    (text) => {
      expect(() => parseAmount(text)).toThrow('must be an amount in roubles, e.g. 500.00.');
    },
  );
});

describe('a limit or a refund on the command line', () => {
  it('is an amount above 0', () => {
    expect(parseAmountAboveZero('0.01').toString()).toBe('0.01');
    for (const text of ['0', '-1', '1000000000000', 'much']) {
      expect(() => parseAmountAboveZero(text)).toThrow('roubles');
    }
  });
});

describe('networks on the command line', () => {
  it('are addresses or CIDR notation, separated by commas', () => {
    expect(parseNetworks('203.0.113.7, 2001:db8::/32')).toEqual(['203.0.113.7', '2001:db8::/32']);
    for (const text of ['', '203.0.113.7,', '10.0.0.0/33', 'host']) {
      expect(() => parseNetworks(text)).toThrow('must be networks in CIDR notation');
    }
  });
});

describe('a text on the command line', () => {
  it('is read without the spaces around it', () => {
    expect(parseText('  two words ')).toBe('two words');
  });

  it.each([
    ['empty', ''],
    ['blank', ' \t'],
    ['longer than 500 characters', 'a'.repeat(501)],
  ])('is refused when it is %s', (_, text) => {
    expect(() => parseText(text)).toThrow('must be 1 to 500 characters.');
  });
});

describe('a moment on the command line', () => {
  it.each([
    ['2027-01-31T09:00:00Z', '2027-01-31T09:00:00.000Z'],
    ['2027-01-31T09:00+03:00', '2027-01-31T06:00:00.000Z'],
    ['2027-01-31T09:00:00.125-00:30', '2027-01-31T09:30:00.125Z'],
  ])('has an offset: %s', (text, moment) => {
    expect(parseMoment(text).toISOString()).toBe(moment);
  });

  it.each(['', '2027-01-31', '2027-01-31T09:00:00', '2027-13-31T09:00:00Z', 'tomorrow', '1800000000'])(
    'is refused when it is ambiguous or not a moment: %j',
    (text) => {
      expect(() => parseMoment(text)).toThrow('must be a moment with its offset');
    },
  );
});

describe('a day on the command line', () => {
  it('exists in the calendar', () => {
    expect(parseDay('2024-02-29')).toBe('2024-02-29');
    for (const text of ['', '2026-02-29', '2026-1-1', '0001-01-01', '2026-01-01T00:00:00Z', 'today']) {
      expect(() => parseDay(text)).toThrow('must be a day, e.g. 2026-11-21.');
    }
  });
});

describe('a list of dimensions of sales on the command line', () => {
  it('is any of three, and each counts once', () => {
    expect(parseDimensions('version, day,version')).toEqual(['day', 'version']);
    for (const text of ['', 'day,', 'month', 'day,user']) {
      expect(() => parseDimensions(text)).toThrow('must be any of day, country, version');
    }
  });
});

describe('a target on the command line', () => {
  it('is a target of the audit log', () => {
    expect(parseTarget('price-rule:7')).toEqual({ type: 'price-rule', id: '7' });
    for (const text of ['', '42', 'user:', 'user:anna', 'server:1', 'user:42 ']) {
      expect(() => parseTarget(text)).toThrow('must be a target of the audit log, e.g. user:42, order:815.');
    }
  });
});
