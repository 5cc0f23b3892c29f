import { once } from 'node:events';
import net from 'node:net';

/**
 * Opens a TCP connection and closes it: gives the milliseconds it took, rounded up, or null on failure.
 *
 * @param end ends the attempt before its time
 */
export async function tcpPing(
  host: string,
  port: number,
  timeoutMs: number,
  end?: AbortSignal,
): Promise<number | null> {
  const startedAt = performance.now();
  let socket: net.Socket | undefined;
  try {
    // Throws synchronously for a port out of range.
    socket = net.connect({ host, port });
    const timeout = AbortSignal.timeout(timeoutMs);
    await once(socket, 'connect', { signal: end ? AbortSignal.any([timeout, end]) : timeout });
    return Math.ceil(performance.now() - startedAt);
  } catch {
    return null;
  } finally {
    socket?.destroy();
  }
}
