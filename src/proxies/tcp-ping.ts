import { once } from 'node:events';
import net from 'node:net';

/** Milliseconds until a TCP connection stands, rounded up; null when none does within the limit. Closed at once. */
export async function tcpPing(host: string, port: number, timeoutMs: number): Promise<number | null> {
  const startedAt = performance.now();
  let socket: net.Socket | undefined;
  try {
    // Throws at once for a port that is none.
    socket = net.connect({ host, port });
    await once(socket, 'connect', { signal: AbortSignal.timeout(timeoutMs) });
    return Math.ceil(performance.now() - startedAt);
  } catch {
    return null;
  } finally {
    socket?.destroy();
  }
}
