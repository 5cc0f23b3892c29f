import type { lookup } from 'node:dns';
import { Agent } from 'node:http';
import type { Server as NetServer } from 'node:net';
import { RequestError, Server } from 'proxy-chain';
import { stopListening } from '../listen';
import type { Endpoint, FindRefusal } from './endpoint';
import { isLoopback, lookupLoopback, LOOPBACK_ONLY } from './loopback';

/** An HTTP proxy (CONNECT and plain requests) for every login that `findRefusal` does not refuse. */
export function createHttpEndpoint(findRefusal: FindRefusal): Endpoint {
  const httpAgent = new Agent({ keepAlive: false });
  const proxy = new Server({
    authRealm: 'proxy',
    prepareRequestFunction({ username, password, hostname }) {
      const failMsg = findRefusal(username, password);
      if (failMsg !== null) return { requestAuthentication: true, failMsg };
      if (!isLoopback(hostname)) throw new RequestError(LOOPBACK_ONLY, 403);
      // The library declares the type of dns.lookup, but never uses its promise form.
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion
      return { dnsLookup: lookupLoopback as typeof lookup, httpAgent };
    },
  });
  const server: NetServer = proxy.server;
  return {
    server,
    async close() {
      httpAgent.destroy();
      proxy.closeConnections();
      await stopListening(server);
    },
  };
}
