import http from 'node:http';
import https from 'node:https';
import { createOutgoingAgents, type OutgoingOptions } from './outgoing-agents';

/** Larger than any documented response. */
const MAX_RESPONSE_BYTES = 5 * 1024 * 1024;

/** Returns axios options. Unlike `fetch()` in Node 20, axios always aborts a late response. */
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

/** Records whether a request may have been sent, even in part. Agents must use only connected sockets. */
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
