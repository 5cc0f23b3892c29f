import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Logger } from '@nestjs/common';
import { networksOf, plainAddress, ConcurrencyLimit } from '../common';
import { IdleConnections } from './idle-connections';
import { atMostEachMinute } from './rare-warning';

/** A connection without a request in progress counts as silent after this time without data. */
const SILENT_MS = 1000;
/** Fraction of all connections that one network may use. */
const PART_OF_NETWORK = 0.5;
/** Fraction of all connections reserved for clients other than trusted proxies. */
const PART_OF_OTHERS = 0.02;
const MOST_OF_OTHERS = 50;

/**
 * Which connections the server closes at a limit: those of the networks with the most connections
 * (`of-fullest`), or new ones from any network (`of-any`).
 */
export type ClosedConnections = 'of-fullest' | 'of-any';

interface Connection {
  /** Null for a trusted proxy, whose idle connections are never closed. */
  readonly network: string | null;
  requests: number;
  readonly leave: () => void;
}

export interface ConnectionBounds {
  readonly most: number;
  readonly isTrusted: (address: string) => boolean;
  readonly onFull?: ((closed: ClosedConnections) => void) | undefined;
}

/** Limits the server's connections, in total and per network. */
export class Connections {
  private readonly open = new Map<Socket, Connection>();
  private readonly idle = new IdleConnections();
  private trusted = 0;
  private readonly logger = new Logger('Http');
  private onFull: ConnectionBounds['onFull'];
  private readonly warn = atMostEachMinute((message) => this.logger.warn(message));

  follow(server: Server, { most, isTrusted, onFull }: ConnectionBounds): void {
    this.onFull = onFull;
    const mostOfNetwork = Math.ceil(most * PART_OF_NETWORK);
    const turns = new ConcurrencyLimit<string>(most, mostOfNetwork);
    const ofOthers = Math.max(1, Math.min(MOST_OF_OTHERS, Math.floor(most * PART_OF_OTHERS)));
    const mostOfTrusted = most === 1 ? 1 : most - ofOthers;
    server.on('connection', (socket) => {
      const address = plainAddress(socket.remoteAddress);
      const network = address !== null && isTrusted(address) ? null : networksOf(address).at(-1);
      this.enter(socket, network ?? null, turns, network ? mostOfNetwork : mostOfTrusted);
    });
    server.prependListener('request', ({ socket }, response: ServerResponse) => {
      const connection = this.open.get(socket);
      if (!connection) return;
      if (connection.requests === 0) this.idle.delete(socket, connection.network);
      connection.requests += 1;
      response.once('close', () => {
        connection.requests -= 1;
        if (connection.requests === 0 && this.open.has(socket)) this.idle.add(socket, connection.network);
      });
    });
  }

  /** Adds a connection. At a limit, closes the longest idle connection or, if there is none, the new one. */
  private enter(
    socket: Socket,
    network: string | null,
    turns: ConcurrencyLimit<string>,
    mostOfPeer: number,
  ): void {
    const isFull = (network === null ? this.trusted : turns.of(network)) >= mostOfPeer;
    const enter = () => (network === null ? !isFull && turns.enter() : turns.enter(network));
    let leave = enter();
    if (!leave) {
      const peer = network === null ? 'load balancers have' : `${network} has`;
      this.warn(
        `${isFull ? `${peer} ${mostOfPeer}` : `there are ${this.open.size}`} connections, the maximum: ` +
          (isFull && network === null ? 'new ones are refused' : 'idle ones make room for new ones'),
      );
      const silent = isFull ? this.idle.longestOf(network) : this.idle.longest();
      if (silent) this.leave(silent.destroy());
      leave = enter();
      this.onFull?.(leave || (isFull && network !== null) ? 'of-fullest' : 'of-any');
    }
    if (!leave) {
      socket.destroy();
      return;
    }
    if (network === null) this.trusted += 1;
    this.open.set(socket, { network, requests: 0, leave });
    this.idle.add(socket, network);
    socket.once('close', () => this.leave(socket));
  }

  private leave(socket: Socket): void {
    const connection = this.open.get(socket);
    if (!connection) return;
    this.open.delete(socket);
    this.idle.delete(socket, connection.network);
    if (connection.network === null) this.trusted -= 1;
    connection.leave();
  }

  /**
   * Returns a function that closes silent connections, to be called at intervals. This is needed because Node
   * 20.20 never closes some connections whose client left in the middle of a request.
   */
  silentCloser(): () => void {
    const heard = new Map<Socket, { readonly bytes: number; readonly atMs: number }>();
    return () => {
      const nowMs = performance.now();
      for (const [socket, { requests }] of this.open) {
        const last = heard.get(socket);
        if (requests > 0 || last?.bytes !== socket.bytesRead) {
          heard.set(socket, { bytes: socket.bytesRead, atMs: nowMs });
        } else if (nowMs - last.atMs > SILENT_MS) {
          socket.destroy();
        }
      }
    };
  }
}
