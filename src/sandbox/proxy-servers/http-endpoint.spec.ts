import { createServer, type Server } from 'node:http';
import { connect, createServer as createNetServer } from 'node:net';
import { forAllTests } from '../../../test/support/fixtures';
import { openSilentPort } from '../../../test/support/silent-port';
import { listenOnFirstFree, stopListening } from '../system';
import { createHttpEndpoint } from './http-endpoint';

const endpoint = createHttpEndpoint(
  (login, password) => (`${login}:${password}` === 'a:b' ? null : 'no'),
  undefined,
  300,
);
const AUTHORIZATION = `Proxy-Authorization: Basic ${btoa('a:b')}`;
let port: number;
let target: Server;
let targetPort: number;
let received: string[];

beforeAll(async () => {
  port = await listenOnFirstFree(endpoint.server, '127.0.0.1', [0]);
  target = createServer((request, response) => {
    received = request.rawHeaders;
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => (body += text));
    request.on('end', () => response.end(`got ${body}`));
  });
  targetPort = await listenOnFirstFree(target, '127.0.0.1', [0]);
});

afterAll(async () => {
  await endpoint.close();
  await stopListening(target);
});

async function talk(lines: string[], body = ''): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  socket.write(`${lines.join('\r\n')}\r\n\r\n${body}`);
  let text = '';
  for await (const chunk of socket.setEncoding('utf8')) text += String(chunk);
  return text;
}

async function freePort(): Promise<number> {
  const server = createNetServer();
  const free = await listenOnFirstFree(server, '127.0.0.1', [0]);
  await stopListening(server);
  return free;
}

function both(address: string): Array<[kind: string, lines: string[]]> {
  return [
    ['a plain request', [`GET http://${address}/ HTTP/1.1`, `Host: ${address}`, AUTHORIZATION]],
    ['a tunnel', [`CONNECT ${address} HTTP/1.1`, `Host: ${address}`, AUTHORIZATION]],
  ];
}

test.each(both('REFUSED'))('%s to a target that refuses connections is 502', async (_kind, lines) => {
  const address = `127.0.0.1:${await freePort()}`;
  await expect(talk(lines.map((line) => line.replace('REFUSED', address)))).resolves.toMatch(
    /^HTTP\/1\.1 502 Bad Gateway\r\n/,
  );
});

test('a target that resets the connection is 502', async () => {
  const server = createNetServer((socket) => socket.once('data', () => socket.resetAndDestroy()));
  const address = `127.0.0.1:${await listenOnFirstFree(server, '127.0.0.1', [0])}`;
  await expect(talk([`GET http://${address}/ HTTP/1.1`, `Host: ${address}`, AUTHORIZATION])).resolves.toMatch(
    /^HTTP\/1\.1 502 /,
  );
  await stopListening(server);
});

describe('a target that does not accept connections', () => {
  const busy = forAllTests(openSilentPort);

  test.each(both('BUSY'))('is 504 for %s', async (_kind, lines) => {
    await expect(talk(lines.map((line) => line.replace('BUSY', `127.0.0.1:${busy.port}`)))).resolves.toMatch(
      /^HTTP\/1\.1 504 Gateway Timeout\r\n/,
    );
  });
});

test('a target gets no fields that are meant for the proxy', async () => {
  const url = `http://127.0.0.1:${targetPort}/`;
  const fields = ['Proxy-Connection: keep-alive', 'Connection: X-Hop, close', 'X-Hop: 1', 'X-Own: 2'];
  await talk([`POST ${url} HTTP/1.1`, 'Host: t', AUTHORIZATION, 'Content-Length: 2', ...fields], 'hi');

  const names = received.filter((_, index) => index % 2 === 0).map((name) => name.toLowerCase());
  expect(names).toEqual(['host', 'content-length', 'x-own', 'connection']);
});

test('a body reaches the target, of known length and in chunks', async () => {
  const start = [
    `POST http://127.0.0.1:${targetPort}/ HTTP/1.1`,
    'Host: t',
    AUTHORIZATION,
    'Connection: close',
  ];
  await expect(talk([...start, 'Content-Length: 2'], 'hi')).resolves.toContain('got hi');
  await expect(talk([...start, 'Transfer-Encoding: chunked'], '2\r\nhi\r\n0\r\n\r\n')).resolves.toContain(
    'got hi',
  );
});

test.each([
  ['GET / HTTP/1.1', 400],
  ['GET https://127.0.0.1/ HTTP/1.1', 400],
  ['CONNECT 127.0.0.1 HTTP/1.1', 400],
  ['CONNECT [::1 HTTP/1.1', 400],
  ['GET http://192.0.2.1/ HTTP/1.1', 403],
  ['CONNECT 192.0.2.1:80 HTTP/1.1', 403],
])('%s returns %i', async (line, status) => {
  await expect(talk([line, 'Host: t', AUTHORIZATION])).resolves.toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
});

test('a wrong login has to be sent again', async () => {
  for (const line of ['GET http://127.0.0.1/ HTTP/1.1', 'CONNECT 127.0.0.1:80 HTTP/1.1']) {
    const response = await talk([line, 'Host: t']);
    expect(response).toMatch(/^HTTP\/1\.1 407 Proxy Authentication Required\r\n/);
    expect(response).toMatch(/^proxy-authenticate: Basic realm="proxy"\r$/im);
  }
});
