import { networksOf, plainAddress } from './address';

it('The plain address of a socket has neither a prefix nor a zone', () => {
  expect([plainAddress('::ffff:10.0.0.1'), plainAddress('fe80::1%eth0')]).toEqual(['10.0.0.1', 'fe80::1']);
  expect([plainAddress('2001:db8::1'), plainAddress(undefined)]).toEqual(['2001:db8::1', null]);
});

it.each([
  ['10.0.0.1', ['10.0.0.1']],
  ['2001:DB8::1', ['2001:db8:0:0', '2001:db8:0']],
  ['2001:db8:0:1:2:3:4:5', ['2001:db8:0:1', '2001:db8:0']],
  ['::1', ['0:0:0:0', '0:0:0']],
  [null, ['unknown']],
])('the networks of %p are %p', (address, networks) => {
  expect(networksOf(address)).toEqual(networks);
});
