import { once } from 'node:events';
import type { AddressInfo, Server } from 'node:net';

export async function listen(server: Server, port = 0, host = '127.0.0.1'): Promise<number> {
  await once(server.listen(port, host), 'listening');
  return (server.address() as AddressInfo).port;
}
