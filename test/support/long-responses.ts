import { once } from 'node:events';
import { get, type IncomingMessage, type Server } from 'node:http';
import { promisify } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { TestService, TestUser } from './test-service';

/** The memory that a process may use for sending a file. */
export const MAX_GROWTH_BYTES = 10 * 1024 * 1024;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** The memory in use, inside and outside of the JavaScript heap. */
export function usedBytes(): number {
  // The first collection finds unused buffers, the second one frees their memory.
  collectGarbage();
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** The head of a response; its body is left to the caller, who may read it slowly or never. */
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
