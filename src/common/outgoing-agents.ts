import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import type { Duplex } from 'node:stream';
import tls from 'node:tls';
import { openTunnel } from './proxy-tunnel';
import { TimeLimit } from './time-limit';

type Created = (error: Error | null, socket: Duplex) => void;

/**
 * How long a connection attempt to one address of a host name may take, if further addresses follow. Node's
 * default of 250 ms excludes slow addresses. TCP retransmits a lost packet after a second.
 */
const ADDRESS_TIMEOUT_MS = 1500;
// This applies to all connections of the process, including those to the database and through customers'
// proxies.
net.setDefaultAutoSelectFamilyAttemptTimeout(ADDRESS_TIMEOUT_MS);

const MAX_CONNECTIONS = 64;

interface OutgoingAgents {
  readonly httpAgent: http.Agent;
  readonly httpsAgent: https.Agent;
}

export interface OutgoingOptions {
  /** Maximum time to connect, for all addresses of a host name together and including the TLS handshake. */
  readonly connectTimeoutMs: number;
  /** How long an idle connection stays open. */
  readonly idleMs: number;
  /** The URL of an HTTP proxy for HTTPS; undefined for direct connections. */
  readonly proxy?: string | undefined;
}

/**
 * Creates keep-alive agents that hand a socket to a request only after the connection and any TLS handshake
 * are complete. The request then controls the very next write. An earlier error proves that no byte of the
 * request was sent.
 */
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
    // TLS over a tunnel may report its end twice; the agent uses the first report.
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
