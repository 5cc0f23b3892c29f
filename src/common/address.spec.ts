import { plainAddress } from './address';

it('The plain address of a socket has neither a prefix nor a zone', () => {
  expect(plainAddress('::ffff:10.0.0.1')).toBe('10.0.0.1');
  expect(plainAddress('fe80::1%eth0')).toBe('fe80::1');
  expect(plainAddress('2001:db8::1')).toBe('2001:db8::1');
  expect(plainAddress(undefined)).toBeNull();
});
