import type { Socket } from 'node:net';

/** Idle connections by network, longest idle first. No operation iterates over all connections. */
export class IdleConnections {
  private readonly sockets = new Map<string, Set<Socket>>();
  /** Networks, indexed by their number of idle connections. The last set is never empty. */
  private readonly networks: Set<string>[] = [];

  /** @param network null for a connection that must not be closed to make room */
  add(socket: Socket, network: string | null): void {
    if (network !== null) this.change(network, (sockets) => sockets.add(socket));
  }

  delete(socket: Socket, network: string | null): void {
    if (network !== null) this.change(network, (sockets) => sockets.delete(socket));
  }

  longestOf(network: string | null): Socket | undefined {
    return network === null ? undefined : first(this.sockets.get(network));
  }

  /** Returns the connection that has been idle longest in a network with the most idle connections. */
  longest(): Socket | undefined {
    const network = first(this.networks.at(-1));
    return network === undefined ? undefined : this.longestOf(network);
  }

  private change(network: string, change: (sockets: Set<Socket>) => void): void {
    const sockets = this.sockets.get(network) ?? new Set();
    this.networks[sockets.size]?.delete(network);
    change(sockets);
    if (sockets.size === 0) this.sockets.delete(network);
    else {
      this.sockets.set(network, sockets);
      (this.networks[sockets.size] ??= new Set()).add(network);
    }
    while (this.networks.length > 0 && !this.networks.at(-1)?.size) this.networks.pop();
  }
}

const first = <Item>(items: Set<Item> | undefined): Item | undefined => items?.values().next().value;
