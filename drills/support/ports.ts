import { randomInt } from 'node:crypto';
import { connect, createServer } from 'node:net';

export const LOOPBACK = '127.0.0.1';

/**
 * They are below the ports that systems give to outgoing connections: one of those would take the port of a
 * daemon that is down for a moment.
 */
const LOWEST = 12_000;
const HIGHEST = 32_000;

/** Different ports of 127.0.0.1 without a listener. */
export async function freePorts(count: number): Promise<number[]> {
  const ports = new Set<number>();
  while (ports.size < count) {
    const port = randomInt(LOWEST, HIGHEST);
    if (!ports.has(port) && (await isFree(port))) ports.add(port);
  }
  return [...ports];
}

export async function freePort(): Promise<number> {
  const [port] = await freePorts(1);
  return port ?? freePort();
}

/** Whether somebody accepts connections there. */
export function isListening(port: number, host = LOOPBACK): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host });
    const response = (isOpen: boolean): void => {
      socket.destroy();
      resolve(isOpen);
    };
    socket.setTimeout(1000, () => response(false));
    socket.once('connect', () => response(true));
    socket.once('error', () => response(false));
  });
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, LOOPBACK, () => server.close(() => resolve(true)));
  });
}
