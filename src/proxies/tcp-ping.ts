import { once } from 'node:events';
import net from 'node:net';
import { TimeLimit } from '../common';

/** A proxy that takes longer to accept a connection is unusable. */
export const PING_TIMEOUT_MS = 3000;

/**
 * Opens a TCP connection and closes it. Returns the milliseconds it took, rounded up, or null on failure.
 *
 * @param end ends the attempt early
 */
export async function tcpPing(
  host: string,
  port: number,
  timeoutMs: number,
  end?: AbortSignal,
): Promise<number | null> {
  const startedAt = performance.now();
  const limit = new TimeLimit(timeoutMs, end);
  let socket: net.Socket | undefined;
  try {
    // Throws synchronously for a port out of range.
    socket = net.connect({ host, port });
    await once(socket, 'connect', { signal: limit.signal });
    return Math.ceil(performance.now() - startedAt);
  } catch {
    return null;
  } finally {
    limit.release();
    socket?.destroy();
  }
}
