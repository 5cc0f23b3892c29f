import type { Socket } from 'node:net';
import socks5 from 'simple-socks';
import { stopListening } from '../listen';
import { ELSEWHERE, type Endpoint, type FindFault, type FindRefusal } from './endpoint';
import { isLoopback, lookupLoopback } from './loopback';

/** RFC 1929: version 1, a non-zero status. */
const WRONG_CREDENTIALS = Buffer.from([1, 0xff]);
/** RFC 1928: reply 2, "connection not allowed by ruleset", with an empty address. SOCKS has no error text. */
const NOT_ALLOWED = Buffer.from([5, 2, 0, 1, 0, 0, 0, 0, 0, 0]);

/** RFC 1928: reply 4, "host unreachable". */
const UNREACHABLE = Buffer.from([5, 4, 0, 1, 0, 0, 0, 0, 0, 0]);

/**
 * A SOCKS5 proxy for every login that `findRefusal` does not refuse.
 *
 * The library treats a refusal as permission unless it is `instanceof Error` in the library's own realm,
 * which fails under Jest. Therefore refusals are sent here, and the library's callback is not called.
 */
export function createSocksEndpoint(
  findRefusal: FindRefusal,
  findFault: FindFault = () => undefined,
): Endpoint {
  const sockets = new Map<string, Socket>();
  const logins = new WeakMap<Socket, string>();
  const nameOf = ({ address, port }: { address: string; port: number }): string => `${address}:${port}`;
  const faultOf = (origin: string): ReturnType<FindFault> => {
    const socket = sockets.get(origin);
    return socket && findFault(logins.get(socket) ?? '');
  };
  const server = socks5.createServer({
    authenticate(login, password, socket, proceed) {
      if (findRefusal(login, password) !== null) {
        socket.end(WRONG_CREDENTIALS);
        return;
      }
      logins.set(socket, login);
      const fault = findFault(login);
      if (fault === 'close') socket.destroy();
      else if (fault !== 'hang') proceed();
    },
    connectionFilter(destination, origin, proceed) {
      const socket = sockets.get(nameOf(origin));
      if (faultOf(nameOf(origin)) === 'unreachable') socket?.end(UNREACHABLE);
      else if (isLoopback(destination.address)) proceed();
      else socket?.end(NOT_ALLOWED);
    },
    connectionOptions(_destination, origin, defaults, proceed) {
      const localAddress = faultOf(nameOf(origin)) === 'elsewhere' ? ELSEWHERE : undefined;
      proceed(null, { ...defaults, lookup: lookupLoopback, ...(localAddress && { localAddress }) });
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
