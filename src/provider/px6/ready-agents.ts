import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import type { Duplex } from 'node:stream';
import tls from 'node:tls';

type Created = (error: Error | null, socket: Duplex) => void;

const KEEP_ALIVE = { keepAlive: true, timeout: 10_000, maxSockets: 64 } as const;

/**
 * Creates keep-alive agents that hand a socket to a request only once it is connected and any TLS handshake
 * is done. The request then controls the very next write, and an earlier error proves that no byte of it was
 * sent.
 */
export function createReadyAgents(connectTimeoutMs: number): {
  readonly httpAgent: http.Agent;
  readonly httpsAgent: https.Agent;
} {
  const handOverWhen = (
    readyEvent: 'connect' | 'secureConnect',
    socket: net.Socket,
    created: Created,
  ): void => {
    const timer = setTimeout(() => socket.destroy(new Error('connect timeout')), connectTimeoutMs);
    const onError = (error: Error) => {
      clearTimeout(timer);
      created(error, socket);
    };
    socket.once('error', onError);
    socket.once(readyEvent, () => {
      clearTimeout(timer);
      socket.off('error', onError);
      created(null, socket);
    });
  };

  const httpAgent = new http.Agent(KEEP_ALIVE);
  httpAgent.createConnection = (options, created) => {
    if (created) handOverWhen('connect', net.connect(options as net.NetConnectOpts), created);
    return undefined;
  };
  const httpsAgent = new https.Agent(KEEP_ALIVE);
  httpsAgent.createConnection = (options, created) => {
    if (created) handOverWhen('secureConnect', tls.connect(options as tls.ConnectionOptions), created);
    return undefined;
  };
  return { httpAgent, httpsAgent };
}
