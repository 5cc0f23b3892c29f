import { connect, createServer } from 'node:net';
import { pipeline } from 'node:stream';
import { Socks5Server } from '@pondwader/socks5-server';
import { hasErrorCode } from '../system';
import { WRONG_EXIT_ADDRESS, type Endpoint, endpointOf, type FindFault, type FindRefusal } from './endpoint';
import { isLoopback, lookupLoopback } from './loopback';

export function createSocksEndpoint(
  findRefusal: FindRefusal,
  findFault: FindFault = () => undefined,
): Endpoint {
  const socks = new Socks5Server()
    .setAuthHandler(({ username, password, socket }) => {
      if (findRefusal(username, password) !== null) return false;
      const fault = findFault(username);
      if (fault === 'close') socket.destroy();
      return fault === 'close' || fault === 'hang' ? undefined : true;
    })
    .setRulesetValidator(({ destAddress }) => isLoopback(destAddress))
    .setConnectionHandler(({ username = '', destAddress, destPort, socket }, sendStatus) => {
      const fault = findFault(username);
      if (fault === 'unreachable') {
        sendStatus('HOST_UNREACHABLE');
        return;
      }
      const target = connect({
        host: destAddress,
        port: destPort,
        lookup: lookupLoopback,
        ...(fault === 'elsewhere' && { localAddress: WRONG_EXIT_ADDRESS }),
      });
      const refuse = (error: Error): void =>
        sendStatus(hasErrorCode(error, 'ECONNREFUSED') ? 'CONNECTION_REFUSED' : 'HOST_UNREACHABLE');
      target.once('error', refuse).once('connect', () => {
        target.off('error', refuse);
        sendStatus('REQUEST_GRANTED');
        pipeline(socket, target, socket, () => undefined);
      });
      socket.once('close', () => target.destroy());
    });
  const server = createServer((socket) => {
    // oxlint-disable-next-line no-underscore-dangle -- the library's way to use a server that is not its own
    socks._handleConnection(socket);
  });
  return endpointOf(server);
}
