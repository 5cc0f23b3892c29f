import { once } from 'node:events';
import net from 'node:net';

/** Opens a TCP connection and closes it: gives the milliseconds it took, rounded up, or null on failure. */
export async function tcpPing(host: string, port: number, timeoutMs: number): Promise<number | null> {
  const startedAt = performance.now();
  let socket: net.Socket | undefined;
  try {
    // Throws synchronously for a port out of range.
    socket = net.connect({ host, port });
    await once(socket, 'connect', { signal: AbortSignal.timeout(timeoutMs) });
    return Math.ceil(performance.now() - startedAt);
  } catch {
    return null;
  } finally {
    socket?.destroy();
  }
}
