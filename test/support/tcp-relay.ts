import net from 'node:net';
import { listen } from './listen';

export interface TcpRelay {
  readonly port: number;
  /** The port for connections; null closes them at once. */
  target: number | null;
  cut(): void;
  close(): Promise<void>;
}

/** An address for a service that does not run yet. */
export async function startTcpRelay(): Promise<TcpRelay> {
  const sockets = new Set<net.Socket>();
  const server = net.createServer((client) => {
    const { target } = relay;
    // Keeps the client's address.
    const { remoteAddress: localAddress = '127.0.0.1' } = client;
    const ends =
      target === null ? [client] : [client, net.connect({ port: target, host: '127.0.0.1', localAddress })];
    const end = () => ends.forEach((socket) => socket.destroy());
    for (const socket of ends) {
      sockets.add(socket);
      socket.on('error', end).on('close', end);
      socket.once('close', () => sockets.delete(socket));
    }
    const [, service] = ends;
    if (service) client.pipe(service).pipe(client);
    else end();
  });
  const relay: TcpRelay = {
    port: await listen(server),
    target: null,
    cut() {
      for (const socket of sockets) socket.destroy();
    },
    async close() {
      relay.cut();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return relay;
}
