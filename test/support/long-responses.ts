import { once } from 'node:events';
import { get, type IncomingMessage, type Server } from 'node:http';
import { promisify } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { TestService, TestUser } from './test-service';

export const MAX_GROWTH_BYTES = 6 * 1024 * 1024;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

export function usedBytes(): number {
  // The second collection frees the buffers that the first one finds unused.
  collectGarbage();
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** Reads only the head; the caller may read the body slowly or never. */
export async function startDownload(
  service: TestService,
  user: TestUser,
  path: string,
  accept = '*/*',
): Promise<IncomingMessage> {
  const headers = { authorization: `Bearer ${user.token}`, accept };
  const call = get(`${service.baseUrl}/${path}`, { headers, agent: false });
  const [response] = (await once(call, 'response')) as [IncomingMessage];
  return response;
}

export function openConnections(service: TestService): Promise<number> {
  const server: Server = service.app.getHttpServer();
  return promisify(server.getConnections.bind(server))();
}
