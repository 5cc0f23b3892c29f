import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Starts a server and returns its URL. If the port is taken, the error message includes `advice`. */
export async function listen(server: Server, host: string, port: number, advice: string): Promise<string> {
  try {
    await once(server.listen(port, host), 'listening');
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EADDRINUSE')) throw error;
    throw new Error(`Port ${port} on ${host} is already in use: ${advice}`, { cause: error });
  }
  const { address, port: chosen, family } = server.address() as AddressInfo;
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${chosen}`;
}
