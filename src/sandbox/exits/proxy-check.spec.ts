import { createServer, type Server, type Socket } from 'node:net';
import { listenOnFirstFree, stopListening } from '../listen';
import { tryProxy } from './proxy-check';

const sockets = new Set<Socket>();
const servers: Server[] = [];

afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  await Promise.all(servers.splice(0).map(stopListening));
});

/** A server that treats each connection in its own way. */
async function listening(greet: (socket: Socket) => void): Promise<number> {
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket)).on('error', () => undefined);
    greet(socket);
  });
  servers.push(server);
  return listenOnFirstFree(server, '127.0.0.1', [0]);
}

const PEERS: Record<string, (socket: Socket) => void> = {
  'answers with fewer bytes than are awaited': (socket) => socket.once('data', () => socket.write('HT')),
  'answers with fewer bytes and closes': (socket) => socket.once('data', () => socket.end('HT')),
  'answers with garbage': (socket) => socket.once('data', () => socket.write('\0'.repeat(100_000))),
  'answers nothing': (socket) => socket.resume(),
  'closes its side and stays': (socket) => socket.end(),
  'resets the connection': (socket) => socket.resetAndDestroy(),
  'sends without an end': (socket) => {
    const send = () => {
      while (!socket.destroyed && socket.write('y'.repeat(1000)));
    };
    socket.on('drain', send);
    send();
  },
};

test.each(
  Object.keys(PEERS).flatMap((peer) =>
    (['http', 'socks'] as const).map((protocol) => [peer, protocol] as const),
  ),
)('a peer that %s does not work as a proxy of type %s, and that is known in time', async (peer, protocol) => {
  const port = await listening((socket) => PEERS[peer]?.(socket));
  const proxy = { host: '127.0.0.1', port, login: 'a', password: 'b' };

  await expect(tryProxy(protocol, proxy, 1, 300)).resolves.toBeNull();
});

test.each(['http', 'socks'] as const)('a %s proxy that answers byte by byte works', async (protocol) => {
  const answer =
    protocol === 'http' ? 'HTTP/1.1 200 OK\r\n\r\n' : '\x05\x02\x01\x00\x05\x00\x00\x01' + '\0'.repeat(6);
  const port = await listening((socket) => {
    socket.setNoDelay(true);
    const bytes = Array.from(answer);
    const timer = setInterval(() => socket.write(bytes.shift() ?? '', 'latin1'), 1);
    socket.once('close', () => clearInterval(timer)).resume();
  });

  const proxy = { host: '127.0.0.1', port, login: 'a', password: 'b' };
  await expect(tryProxy(protocol, proxy, 1)).resolves.toBeGreaterThanOrEqual(0);
});
