import http from 'node:http';
import https from 'node:https';
import { createOutgoingAgents, type OutgoingOptions } from './outgoing-agents';

/** Larger than any documented response. */
const MAX_RESPONSE_BYTES = 5 * 1024 * 1024;

/**
 * Returns axios options for calls to providers. They limit the size of a response, and the adapter interprets
 * its status and text. We use axios because it aborts a response that does not arrive in time; Node 20's
 * `fetch()` may read a body without its signal after a garbage collection.
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

/**
 * A transport for axios that records whether any byte of the request may have been sent. It requires our
 * agents, which hand over connected sockets.
 */
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
