import { once } from 'node:events';
import net from 'node:net';
import { TimeLimit } from '../common';

/** A slower proxy is unusable. */
export const PING_TIMEOUT_MS = 3000;

const FAULTS_OF_PEER: readonly (string | undefined)[] = ['ECONNREFUSED', 'ECONNRESET', 'ETIMEDOUT'];

/**
 * Whether an error is certainly the peer's fault. Other errors, such as ENOTFOUND, EAI_AGAIN or EMFILE, may
 * come from this machine or its network.
 */
export function isFaultOfPeer(error: unknown): boolean {
  // An AggregateError contains the errors of all addresses of a host.
  const errors = error instanceof AggregateError ? error.errors : [error];
  return errors.some((one) => FAULTS_OF_PEER.includes((one as NodeJS.ErrnoException).code));
}

/**
 * Returns milliseconds, rounded up; null after a timeout or if the peer is at fault.
 * @throws an error that is not the peer's fault
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
  } catch (error) {
    if (limit.signal.aborted || isFaultOfPeer(error)) return null;
    throw error;
  } finally {
    limit.release();
    socket?.destroy();
  }
}
