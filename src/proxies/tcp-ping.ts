import net from 'node:net';

/** Milliseconds until a TCP connection stands, rounded up; null when none does within the limit. Closed at once. */
export function tcpPing(host: string, port: number, timeoutMs: number): Promise<number | null> {
  return new Promise((resolve) => {
    const startedAt = performance.now();
    const socket = net.connect({ host, port });
    const finish = (latencyMs: number | null) => {
      clearTimeout(timer);
      socket.destroy();
      resolve(latencyMs);
    };
    const timer = setTimeout(() => finish(null), timeoutMs);
    socket.once('connect', () => finish(Math.ceil(performance.now() - startedAt)));
    socket.once('error', () => finish(null));
  });
}
