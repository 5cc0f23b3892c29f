import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import type { Duplex } from 'node:stream';
import tls from 'node:tls';
import { openTunnel } from './proxy-tunnel';
import { TimeLimit } from './time-limit';

type Created = (error: Error | null, socket: Duplex) => void;

/** Allows one TCP retransmission, sent after a second. Node's default of 250 ms would skip slow addresses. */
const ADDRESS_TIMEOUT_MS = 1500;
// Applies to the whole process, including connections to the database and to customers' proxies.
net.setDefaultAutoSelectFamilyAttemptTimeout(ADDRESS_TIMEOUT_MS);

const MAX_CONNECTIONS = 64;

interface OutgoingAgents {
  readonly httpAgent: http.Agent;
  readonly httpsAgent: https.Agent;
}

export interface OutgoingOptions {
  /** Time limit for the whole connection attempt: all addresses of the host, and the TLS handshake. */
  readonly connectTimeoutMs: number;
  readonly idleMs: number;
  /** URL of an HTTP proxy through which to send HTTPS requests. */
  readonly proxy?: string | undefined;
}

/** Creates agents that send only on connected sockets, so a connection error means that nothing was sent. */
export function createOutgoingAgents({ connectTimeoutMs, idleMs, proxy }: OutgoingOptions): OutgoingAgents {
  const keepAlive = { keepAlive: true, timeout: idleMs, maxSockets: MAX_CONNECTIONS };
  const handOverWhen = (
    readyEvent: 'connect' | 'secureConnect',
    socket: net.Socket,
    created: Created,
    limit = new TimeLimit(connectTimeoutMs),
  ): void => {
    limit.signal.addEventListener('abort', () => socket.destroy(new Error('connect timeout')));
    const onError = (error: Error) => {
      limit.release();
      created(error, socket);
    };
    // Not `once`: a second error, which TLS over a tunnel may emit, would be unhandled. The agent ignores it.
    socket.on('error', onError);
    socket.once(readyEvent, () => {
      limit.release();
      socket.off('error', onError);
      created(null, socket);
    });
  };

  const httpAgent = new http.Agent(keepAlive);
  httpAgent.createConnection = (options, created) => {
    if (created) handOverWhen('connect', net.connect(options as net.NetConnectOpts), created);
    return undefined;
  };
  const httpsAgent = new https.Agent(keepAlive);
  const connectSecurely = async (options: tls.ConnectionOptions, created: Created): Promise<void> => {
    const limit = new TimeLimit(connectTimeoutMs);
    try {
      const target = options as { readonly host: string; readonly port: number };
      const socket = proxy === undefined ? undefined : await openTunnel(proxy, target, limit.signal);
      handOverWhen('secureConnect', tls.connect({ ...options, socket }), created, limit);
    } catch (error) {
      limit.release();
      (created as (error: unknown) => void)(error);
    }
  };
  httpsAgent.createConnection = (options, created) => {
    if (created) void connectSecurely(options as tls.ConnectionOptions, created);
    return undefined;
  };
  return { httpAgent, httpsAgent };
}
