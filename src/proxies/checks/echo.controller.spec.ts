import { isForwarded } from './echo.controller';

describe('isForwarded', () => {
  it.each<[string, string[], Record<string, string>, boolean]>([
    ['nothing, for a direct request', [], {}, false],
    ['the address in a direct request', [], { 'x-forwarded-for': '198.51.100.9' }, true],
    ['other headers of a direct request', [], { forwarded: 'for=198.51.100.9' }, true],
    ['what our load balancer added', ['203.0.113.7'], { 'x-forwarded-for': '203.0.113.7' }, false],
    [
      'what two of ours added',
      ['203.0.113.7', '10.0.0.2'],
      { 'x-forwarded-for': '203.0.113.7, 10.0.0.2' },
      false,
    ],
    ['what stood there before', ['203.0.113.7'], { 'x-forwarded-for': '198.51.100.9, 203.0.113.7' }, true],
    [
      'other headers of our load balancer',
      ['203.0.113.7'],
      { 'x-forwarded-for': '203.0.113.7', 'x-real-ip': '203.0.113.7' },
      false,
    ],
  ])('depends on the headers: %s', (_name, ips, headers, expected) => {
    expect(isForwarded({ ips, headers })).toBe(expected);
  });
});
