import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Logger } from '@nestjs/common';
import { Counts, networkOf, plainAddress } from '../common';
import { atMostEachMinute } from './rare-warning';

/** A connection without a request is idle if nothing arrived for this time. */
const SILENT_MS = 1000;

interface Connection {
  /** The peer's address, or its network if that is IPv6. */
  readonly address: string;
  /** Requests in progress. */
  requests: number;
}

export class Connections {
  /** How many connections an address may have. Infinity if any address may be that of a load balancer. */
  mostOfAddress = Infinity;
  /** Connections without a request are in the order in which they became idle. */
  private readonly open = new Map<Socket, Connection>();
  private readonly counts = new Counts<string>();
  private readonly logger = new Logger('Http');
  private readonly warn = atMostEachMinute((message) => this.logger.warn(message));

  follow(server: Server): void {
    server.on('connection', (socket) => this.enter(socket));
    server.prependListener('request', ({ socket }, response: ServerResponse) => {
      const connection = this.open.get(socket);
      if (!connection) return;
      connection.requests += 1;
      response.once('close', () => {
        connection.requests -= 1;
        if (this.open.delete(socket)) this.open.set(socket, connection);
      });
    });
  }

  /**
   * Adds a connection. If its address has reached its limit, the longest-idle one is closed, so that a client
   * with silent connections does not block others in its network.
   */
  private enter(socket: Socket): void {
    const address = networkOf(plainAddress(socket.remoteAddress));
    const count = this.counts.of(address);
    if (count >= this.mostOfAddress) {
      this.warn(`${address} has ${count} connections and gets no more: idle ones make room for new ones`);
      const idle = this.longestIdle(address);
      (idle ?? socket).destroy();
      if (!idle) return;
      this.leave(idle);
    }
    this.open.set(socket, { address, requests: 0 });
    this.counts.add(address, 1);
    socket.once('close', () => this.leave(socket));
  }

  private leave(socket: Socket): void {
    const connection = this.open.get(socket);
    if (!connection) return;
    this.open.delete(socket);
    this.counts.add(connection.address, -1);
  }

  private longestIdle(address: string): Socket | undefined {
    for (const [socket, connection] of this.open) {
      if (connection.requests === 0 && connection.address === address) return socket;
    }
    return undefined;
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
