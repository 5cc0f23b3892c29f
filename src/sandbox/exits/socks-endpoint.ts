import type { Socket } from 'node:net';
import socks5 from 'simple-socks';
import { stopListening } from '../listen';
import type { Endpoint, FindRefusal } from './endpoint';
import { isLoopback, lookupLoopback } from './loopback';

/** RFC 1929: version 1, a non-zero status. */
const WRONG_CREDENTIALS = Buffer.from([1, 0xff]);
/** RFC 1928: reply 2, "connection not allowed by ruleset", with an empty address. SOCKS has no error text. */
const NOT_ALLOWED = Buffer.from([5, 2, 0, 1, 0, 0, 0, 0, 0, 0]);

/**
 * A SOCKS5 proxy for every login that `findRefusal` does not refuse.
 *
 * The library treats a refusal as permission unless it is `instanceof Error` in the library's own realm,
 * which fails under Jest. Therefore refusals are sent here, and the library's callback is not called.
 */
export function createSocksEndpoint(findRefusal: FindRefusal): Endpoint {
  const sockets = new Map<string, Socket>();
  const server = socks5.createServer({
    authenticate(login, password, socket, proceed) {
      if (findRefusal(login, password) === null) proceed();
      else socket.end(WRONG_CREDENTIALS);
    },
    connectionFilter(destination, origin, proceed) {
      if (isLoopback(destination.address)) proceed();
      else sockets.get(`${origin.address}:${origin.port}`)?.end(NOT_ALLOWED);
    },
    connectionOptions(_destination, _origin, defaults, proceed) {
      proceed(null, { ...defaults, lookup: lookupLoopback });
    },
  });
  server.on('connection', (socket) => {
    const origin = `${socket.remoteAddress}:${socket.remotePort}`;
    sockets.set(origin, socket);
    socket.once('close', () => sockets.delete(origin));
  });
  return {
    server,
    async close() {
      for (const socket of sockets.values()) socket.destroy();
      await stopListening(server);
    },
  };
}
