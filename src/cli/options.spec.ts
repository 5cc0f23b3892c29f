import { ALL_SCOPES, ALL_STAFF_SCOPES, USUAL_SCOPES } from '../auth';
import { parseDurationMs, parseId, parseScopes, parseSwitch, parseText } from './options';

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

  it('are those that change nothing with the word `read`', () => {
    const reading = USUAL_SCOPES.filter((scope) => scope.endsWith(':read'));
    expect(parseScopes('read,profile:read,staff:read')).toEqual([...reading, 'staff:read']);
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
        `known scopes: all, read, ${ALL_SCOPES.join(', ')}, staff, ${ALL_STAFF_SCOPES.join(', ')}.`,
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

it('A yes-or-no option is one of two words', () => {
  expect([parseSwitch('paused', 'paused', 'running'), parseSwitch('running', 'paused', 'running')]).toEqual([
    true,
    false,
  ]);
  expect(() => parseSwitch('off', 'paused', 'running')).toThrow('Allowed choices are paused, running.');
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
