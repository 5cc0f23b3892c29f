import { isNetwork, isWithin, liesWithin } from './network';

describe('a network', () => {
  it.each(['203.0.113.7', '10.0.0.0/8', '10.1.2.3/8', '0.0.0.0/0', '2001:db8::/32', '::1', '::1/128'])(
    'can be an address or CIDR notation: %s',
    (text) => {
      expect(isNetwork(text)).toBe(true);
    },
  );

  it.each([
    '',
    '10.0.0',
    '10.0.0.0/33',
    '10.0.0.0/-1',
    '10.0.0.0/',
    '10.0.0.0/08',
    '2001:db8::/032',
    '2001:db8::/129',
    'fe80::1%eth0',
    'host',
    '1.2.3.4 ',
  ])('cannot be anything else: %j', (text) => {
    expect(isNetwork(text)).toBe(false);
  });

  it('contains the addresses in its range', () => {
    const networks = ['10.0.0.0/8', '2001:db8::/32', '203.0.113.7/32'];
    for (const address of ['10.255.0.1', '2001:db8:1::1', '203.0.113.7']) {
      expect([address, isWithin(networks, address)]).toEqual([address, true]);
    }
    for (const address of ['11.0.0.1', '2001:db9::1', '203.0.113.8', '::1', null]) {
      expect([address, isWithin(networks, address)]).toEqual([address, false]);
    }
    expect(isWithin([], '10.0.0.1')).toBe(false);
  });

  it.each([
    ['10.1.0.0/16', '10.0.0.0/8', true],
    ['10.0.0.0/8', '10.0.0.0/8', true],
    ['10.0.0.0/7', '10.0.0.0/8', false],
    ['11.0.0.0/16', '10.0.0.0/8', false],
    ['10.0.0.1', '::/0', true],
    ['::ffff:10.1.0.0/112', '10.0.0.0/8', true],
    ['10.0.0.0/8', '::ffff:10.0.0.0/104', true],
    ['::ffff:10.0.0.0/97', '10.0.0.0/8', false],
    ['::/0', '0.0.0.0/0', false],
  ])('%s lies within %s: %s', (inner, outer, expected) => {
    expect(liesWithin([outer], inner)).toBe(expected);
  });
});
