import { type IncomingHttpHeaders, type OutgoingHttpHeaders, request } from 'node:http';
import { connect } from 'node:net';
import { text as readText } from 'node:stream/consumers';

export interface RawRequest {
  readonly method?: string;
  readonly path: string;
  readonly token?: string;
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: string | Buffer | undefined;
  /** Called when the operating system has the whole request. */
  readonly onWritten?: () => void;
}

export interface RawResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  json(): unknown;
}

/** fetch would normalise the path and add a content type. */
export function sendRaw(
  baseUrl: string,
  { method = 'GET', path, token, headers, body, onWritten }: RawRequest,
): Promise<RawResponse> {
  const { hostname, port } = new URL(baseUrl);
  const sent: OutgoingHttpHeaders = {
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
    ...(body !== undefined && { 'content-length': Buffer.byteLength(body) }),
    ...headers,
  };
  return new Promise((resolve, reject) => {
    const call = request({ host: hostname, port, method, path, headers: sent }, (response) => {
      readText(response).then(
        (text) =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            text,
            json: () => JSON.parse(text) as unknown,
          }),
        reject,
      );
    });
    call.on('error', reject).end(body, onWritten);
  });
}

/** Sends bytes that no HTTP client sends. */
export function exchangeRaw(baseUrl: string, bytes: string | Buffer): Promise<string> {
  const { hostname, port } = new URL(baseUrl);
  const socket = connect(Number(port), hostname);
  socket.write(bytes);
  return readText(socket);
}
