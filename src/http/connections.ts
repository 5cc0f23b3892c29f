import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Logger } from '@nestjs/common';
import { networksOf, plainAddress, Turns } from '../common';
import { IdleConnections } from './idle-connections';
import { atMostEachMinute } from './rare-warning';

/** A connection without a request is silent if nothing arrived for this time. */
const SILENT_MS = 1000;
/** Of all connections. */
const PART_OF_NETWORK = 0.5;

interface Connection {
  /** The peer's network; null for a trusted proxy, whose idle connections may be about to carry an order. */
  readonly network: string | null;
  /** Requests in progress. */
  requests: number;
  readonly leave: () => void;
}

export interface ConnectionBounds {
  readonly most: number;
  readonly isTrusted: (address: string) => boolean;
  /** Called when a bound is reached, so that a connection is closed. */
  readonly onFull?: (() => void) | undefined;
}

/** Bounds the connections of the server, of each network and in all. */
export class Connections {
  private readonly open = new Map<Socket, Connection>();
  private readonly idle = new IdleConnections();
  private readonly logger = new Logger('Http');
  private onFull: (() => void) | undefined;
  private readonly warn = atMostEachMinute((message) => this.logger.warn(message));

  follow(server: Server, { most, isTrusted, onFull }: ConnectionBounds): void {
    this.onFull = onFull;
    const mostOfNetwork = Math.ceil(most * PART_OF_NETWORK);
    const turns = new Turns<string>(most, mostOfNetwork);
    server.on('connection', (socket) => {
      const address = plainAddress(socket.remoteAddress);
      const network = address !== null && isTrusted(address) ? null : networksOf(address).at(-1);
      this.enter(socket, network ?? null, turns, mostOfNetwork);
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

  /**
   * Adds a connection. At the limit of its network, the longest idle one of that network gives way; at the
   * limit of all, that of the network with most idle ones: refusal alone would let silent connections keep
   * others out. Without an idle one, the new connection is closed.
   */
  private enter(socket: Socket, network: string | null, turns: Turns<string>, mostOfNetwork: number): void {
    const keys = network === null ? [] : [network];
    let leave = turns.enter(...keys);
    if (!leave) {
      this.onFull?.();
      const isFull = network !== null && turns.of(network) >= mostOfNetwork;
      this.warn(
        `${isFull ? `${network} has ${mostOfNetwork}` : `there are ${this.open.size}`} connections, ` +
          'the most: idle ones make room for new ones',
      );
      const silent = isFull ? this.idle.longestOf(network) : this.idle.longest();
      if (silent) this.leave(silent.destroy());
      leave = turns.enter(...keys);
    }
    if (!leave) {
      socket.destroy();
      return;
    }
    this.open.set(socket, { network, requests: 0, leave });
    this.idle.add(socket, network);
    socket.once('close', () => this.leave(socket));
  }

  private leave(socket: Socket): void {
    const connection = this.open.get(socket);
    if (!connection) return;
    this.open.delete(socket);
    this.idle.delete(socket, connection.network);
    connection.leave();
  }

  /**
   * Node never closes a connection that reuses the parser of an earlier one whose client left in the middle
   * of a request: it considers it busy, and the server would wait for the client (seen with Node 20.20).
   *
   * @returns a function that closes the connections that were silent since its previous call
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
