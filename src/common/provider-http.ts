import http from 'node:http';
import https from 'node:https';
import { createOutgoingAgents, type OutgoingOptions } from './outgoing-agents';

/** More than any documented response. */
const MAX_RESPONSE_BYTES = 5 * 1024 * 1024;

/**
 * How providers are called over HTTP: a response is bounded, and its status and text are left to the adapter.
 * Unlike the body of `fetch()`, which Node 20 reads without its signal after a garbage collection, axios ends
 * a response that does not arrive in time.
 */
export const providerHttp = (options: OutgoingOptions) =>
  ({
    ...createOutgoingAgents(options),
    maxContentLength: MAX_RESPONSE_BYTES,
    maxRedirects: 0,
    proxy: false,
    responseType: 'text',
    transformResponse: (body: unknown) => body,
    validateStatus: () => true,
  }) as const;

/** Records for axios whether any byte may have left: our agents hand over connected sockets. */
export class RecordingTransport {
  mayHaveSent = false;

  readonly request = (
    options: https.RequestOptions,
    onResponse: (response: http.IncomingMessage) => void,
  ): http.ClientRequest =>
    (options.protocol === 'https:' ? https : http)
      .request(options, onResponse)
      .once('socket', () => (this.mayHaveSent = true));
}
