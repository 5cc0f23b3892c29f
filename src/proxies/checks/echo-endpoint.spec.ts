import { createServer } from 'node:http';
import { listen } from '../../../test/support/listen';
import type { AppConfig } from '../../config';
import { EchoEndpoint } from './echo-endpoint';

describe('an echo endpoint at an IPv6 address', () => {
  it.each([
    ['reachable over IPv6, if it sees an IPv6 address', '2001:db8::1', true],
    ['not reachable over IPv6, if NAT64 translates the connection', '192.0.2.1', false],
  ])('is %s', async (_, address, expected) => {
    const server = createServer((request, response) => {
      const nonce = new URL(request.url ?? '', 'http://localhost').searchParams.get('nonce');
      response.end(JSON.stringify({ nonce, address, forwarded_for: false }));
    });
    const url = `http://[::1]:${await listen(server, 0, '::1')}/echo`;
    try {
      expect(await new EchoEndpoint({} as AppConfig).isReachable(url, 6)).toBe(expected);
    } finally {
      server.close();
    }
  });
});
