import { getEventListeners } from 'node:events';
import http from 'node:http';
import net from 'node:net';
import { startDnsServer } from '../../../test/support/dns-server';
import { forAllTests } from '../../../test/support/fixtures';
import { listen } from '../../../test/support/listen';
import { openSilentPort } from '../../../test/support/silent-port';
import { AddressRefused, AddressRules, receiverOf } from '../addresses';
import { STORED_RESPONSE_BYTES, WebhookSender } from './webhook-sender';

const HEADERS = { 'content-type': 'application/json' };
const LOOPBACK = ['127.0.0.0/8', '::1'];

interface Receiver {
  readonly port: number;
  connections: number;
  readonly requests: { url: string | undefined; headers: http.IncomingHttpHeaders; body: string }[];
  close(): void;
}
let respond: http.RequestListener;
const senders: WebhookSender[] = [];

const sender = (
  networks: readonly string[] = [],
  timeoutMs = 3000,
  resolver = dns.resolver,
): WebhookSender => {
  const made = new WebhookSender(new AddressRules(networks), timeoutMs, resolver);
  senders.push(made);
  return made;
};

async function startReceiver(): Promise<Receiver> {
  const made: Receiver = { port: 0, connections: 0, requests: [], close: () => undefined };
  const servers = [0, 1].map(() =>
    http
      .createServer((request, response) => {
        let body = '';
        request.on('data', (chunk) => (body += String(chunk)));
        request.on('end', () => {
          made.requests.push({ url: request.url, headers: request.headers, body });
          respond(request, response);
        });
      })
      .on('connection', () => (made.connections += 1)),
  );
  const [four, six] = servers;
  if (!four || !six) throw new Error('no servers');
  const port = await listen(four);
  await listen(six, port, '::1').catch(() => undefined);
  return Object.assign(made, {
    port,
    close: () => servers.forEach((server) => (server.closeAllConnections(), server.close())),
  });
}

const dns = forAllTests(() =>
  startDnsServer({
    'receiver.test': [['127.0.0.1']],
    'mapped.test': [['::ffff:127.0.0.1']],
    'six.test': [['::1']],
    'nat64.test': [['64:ff9b::7f00:1']],
    'two.test': [['127.0.0.2', '127.0.0.1']],
    'two-families.test': [['127.0.0.2', '::1']],
    'far.test': [['127.0.0.1', '::1']],
    'rebinding.test': [['127.0.0.2'], ['127.0.0.1']],
    'silent.test': 'silent',
    'empty.test': [[]],
  }),
);
const receiver = forAllTests(startReceiver);
beforeEach(() => {
  respond = (_request, response) => response.end('thanks');
  receiver.connections = 0;
  receiver.requests.length = 0;
});
afterEach(() => senders.splice(0).forEach((made) => made.close()));

const send = (url: string, by: WebhookSender) => by.post(url, '{}', HEADERS);
const urlOf = (host: string, path = '/hook'): string => `http://${host}:${receiver.port}${path}`;
const NOT_PUBLIC = { outcome: 'forbidden', status: null, error: 'the address is not public' };

describe('A webhook is not sent', () => {
  it.each([
    ['loopback', '127.0.0.1'],
    ['another address of loopback', '127.8.9.10'],
    ['loopback as one number', '2130706433'],
    ['loopback in hexadecimal', '0x7f000001'],
    ['loopback in parts', '0x7f.1'],
    ['loopback in octal', '017700000001'],
    ['loopback with a trailing dot', '127.0.0.1.'],
    ['a name of loopback', 'localhost'],
    ['a name of loopback with a trailing dot', 'localhost.'],
    ['a name below localhost', 'a.localhost'],
    ['loopback in other digits', '①②⑦.⓪.⓪.①'],
    ['unspecified', '0.0.0.0'],
    ['zero', '0'],
    ['private, class A', '10.1.2.3'],
    ['private, class B', '172.16.0.1'],
    ['private, class C', '192.168.0.1'],
    ['link-local, where clouds tell secrets', '169.254.169.254'],
    ['CGNAT', '100.64.0.1'],
    ['multicast', '224.0.0.1'],
    ['broadcast', '255.255.255.255'],
    ['reserved', '240.0.0.1'],
    ['benchmarking', '198.18.0.1'],
    ['documentation', '192.0.2.1'],
    ['IPv6 loopback', '[::1]'],
    ['IPv6 unspecified', '[::]'],
    ['IPv4-mapped', '[::ffff:127.0.0.1]'],
    ['IPv4-mapped, public', '[::ffff:8.8.8.8]'],
    ['IPv4-compatible', '[::127.0.0.1]'],
    ['IPv4-translated', '[::ffff:0:127.0.0.1]'],
    ['loopback behind NAT64', '[64:ff9b::7f00:1]'],
    ['a private address behind NAT64', '[64:ff9b::10.1.2.3]'],
    ["the cloud's secrets behind NAT64", '[64:ff9b::169.254.169.254]'],
    ["Azure's platform behind NAT64", '[64:ff9b::168.63.129.16]'],
    ['an IPv4-mapped address behind NAT64', '[64:ff9b::ffff:808:808]'],
    ['local NAT64', '[64:ff9b:1::7f00:1]'],
    ['local NAT64, public', '[64:ff9b:1::808:808]'],
    ['6to4', '[2002:7f00:1::]'],
    ['Teredo', '[2001:0:7f00:1::]'],
    ['IPv6 link-local', '[fe80::1]'],
    ['IPv6 site-local', '[fec0::1]'],
    ['unique local', '[fd00::1]'],
    ['IPv6 multicast', '[ff02::1]'],
    ['IPv6 outside of what is given out', '[4000::1]'],
  ])('to %s: %s', async (_what, host) => {
    // A literal address is refused without a look-up.
    expect(() => new AddressRules([]).checkUrl(urlOf(host))).toThrow(AddressRefused);
    expect(await send(urlOf(host), sender())).toMatchObject(NOT_PUBLIC);
    expect(receiver.connections).toBe(0);
  });

  it.each([
    ['a name of loopback in the DNS', 'receiver.test'],
    ['such a name in capitals', 'RECEIVER.test'],
    ['such a name with a trailing dot', 'receiver.test.'],
    ['a name of an IPv4-mapped address', 'mapped.test'],
    ['a name of IPv6 loopback', 'six.test'],
    ['a name of loopback behind NAT64', 'nat64.test'],
  ])('to %s: %s', async (_what, name) => {
    expect(await send(urlOf(name), sender())).toMatchObject(NOT_PUBLIC);
    expect(receiver.connections).toBe(0);
  });

  it.each([
    [
      'a login',
      (port: number) => `http://user:secret@127.0.0.1:${port}/`,
      'the URL must not contain a login',
    ],
    [
      'a login that looks like a host',
      (port: number) => `http://example.com@127.0.0.1:${port}/`,
      'the URL must not contain a login',
    ],
    ['the port of mail', () => 'http://127.0.0.1:25/', 'the port must be 80, 443, or 1024 and above'],
    ['another scheme', () => 'ftp://127.0.0.1/', 'the URL must begin with https:// or http://'],
    ['a file', () => 'file:///etc/passwd', 'the URL must begin with https:// or http://'],
    ['a port that is none', () => 'http://127.0.0.1:70000/', 'the URL is not valid'],
    ['no URL at all', () => 'nonsense', 'the URL is not valid'],
  ])('to a URL with %s, with any allowed networks', async (_what, url, error) => {
    expect(await send(url(receiver.port), sender(LOOPBACK))).toMatchObject({ outcome: 'forbidden', error });
    expect(receiver.connections).toBe(0);
  });

  // 127.0.0.2 stands for a public address: tests send nothing to others.
  it.each(['two.test', 'two-families.test'])(
    'to a name of which one address is allowed, and another is not: %s',
    async (name) => {
      expect(await send(urlOf(name), sender(['127.0.0.2']))).toMatchObject(NOT_PUBLIC);
      expect(receiver.connections).toBe(0);
    },
  );

  it('to an address that a name got after it was checked', async () => {
    const rebinding = sender(['127.0.0.2']);
    const url = urlOf('rebinding.test');
    expect(await send(url, rebinding)).toMatchObject({ outcome: 'unreachable' });
    expect(dns.requested('rebinding.test')).toBe(1);
    expect(await send(url, rebinding)).toMatchObject({ outcome: 'forbidden' });
    expect([dns.requested('rebinding.test'), receiver.connections]).toEqual([2, 0]);
  });

  it.each(['8.8.8.8', '1.1.1.1', '2606:4700:4700::1111', '2a00:1450:4001:81b::200e', '64:ff9b::808:808'])(
    'except to public addresses such as %s',
    (address) => {
      expect(new AddressRules([]).isAllowed(address)).toBe(true);
    },
  );

  it('to the platform of Azure, whose address is public by its number', () => {
    expect(new AddressRules([]).isAllowed('168.63.129.16')).toBe(false);
    expect(new AddressRules(['168.63.129.16']).isAllowed('168.63.129.16')).toBe(true);
  });

  it('to an address behind NAT64, unless the IPv4 address in it is in an allowed network', () => {
    const rules = new AddressRules(['10.0.0.0/8']);
    expect(rules.isAllowed('64:ff9b::10.1.2.3')).toBe(true);
    expect(rules.isAllowed('64:ff9b::192.168.0.1')).toBe(false);
    expect(rules.isAllowed('64:ff9b:1::10.1.2.3')).toBe(false);
  });

  it.each(['', 'example.com', '127.0.0.1 ', '8.8.8.8/32', '010.1.1.1'])(
    'to what is no address: "%s"',
    (text) => {
      expect(new AddressRules([]).isAllowed(text)).toBe(false);
    },
  );
});

describe('The receiver of a webhook', () => {
  it.each([
    ['https://example.com/hooks', 'example.com:443'],
    ['https://EXAMPLE.com.:443/?a=b', 'example.com:443'],
    ['http://example.com', 'example.com:80'],
    ['http://example.com:443', 'example.com:443'],
    ['https://[::1]:8443/', '[::1]:8443'],
    ['https://0x7f.1', '127.0.0.1:443'],
  ])('of %s is %s', (url, expected) => {
    expect(receiverOf(url)).toBe(expected);
  });
});

describe('A webhook is sent', () => {
  it.each(['127.0.0.1', '2130706433', 'localhost', 'receiver.test', '[::ffff:127.0.0.1]'])(
    'to what the operator allows: %s',
    async (host) => {
      const result = await sender(LOOPBACK).post(urlOf(host, '/hook?key=1'), '{"a":"ä"}', HEADERS);
      expect(result).toMatchObject({ outcome: 'delivered', status: 200, response: 'thanks', error: null });
      expect(receiver.requests).toMatchObject([{ url: '/hook?key=1', body: '{"a":"ä"}', headers: HEADERS }]);
    },
  );

  it('over one connection again and again, and once more when the receiver closed it', async () => {
    const pooled = sender(LOOPBACK);
    for (let at = 0; at < 3; at += 1) await send(urlOf('127.0.0.1'), pooled);
    expect(receiver.connections).toBe(1);
    let isFirst = true;
    respond = (request, response) => {
      if (isFirst) request.socket.destroy();
      else response.end();
      isFirst = false;
    };
    expect(await send(urlOf('127.0.0.1'), pooled)).toMatchObject({ outcome: 'delivered' });
    expect(receiver.connections).toBe(2);
  });

  it('over no connection that the receiver writes on while nothing was sent', async () => {
    const pooled = sender(LOOPBACK);
    const sockets: net.Socket[] = [];
    respond = (request, response) => {
      if (!sockets.includes(request.socket)) sockets.push(request.socket);
      response.writeHead(204).end();
    };
    for (let at = 0; at < 2; at += 1) await send(urlOf('127.0.0.1'), pooled);
    const [idle, ...others] = sockets;
    expect(others).toEqual([]);
    // An occasional byte keeps a connection from being idle for long.
    const trickle = setInterval(() => idle?.write('H'), 50);
    idle?.on('error', () => undefined);
    await new Promise((resolve) => idle?.once('close', resolve));
    clearInterval(trickle);
    expect(idle?.bytesWritten).toBeLessThan(10_000);
    expect(await send(urlOf('127.0.0.1'), pooled)).toMatchObject({ outcome: 'delivered' });
  });

  it('past the proxies that the environment names', async () => {
    const env = { http_proxy: 'http://127.0.0.1:1', HTTP_PROXY: 'http://127.0.0.1:1' };
    const replaced = jest.replaceProperty(process, 'env', env);
    const result = await send(urlOf('127.0.0.1'), sender(LOOPBACK));
    replaced.restore();
    expect(result).toMatchObject({ outcome: 'delivered' });
  });
});

describe('The result of a webhook', () => {
  const post = (url = urlOf('127.0.0.1'), timeoutMs = 3000, stop?: AbortSignal) =>
    sender(LOOPBACK, timeoutMs).post(url, '{}', HEADERS, stop);

  it.each([301, 302, 303, 307, 308])('is a failure when it is redirected: %d', async (status) => {
    respond = (_request, response) => response.writeHead(status, { Location: '/elsewhere' }).end();
    expect(await post()).toMatchObject({ outcome: 'refused', status, error: 'redirects are not followed' });
    expect(receiver.requests).toHaveLength(1);
  });

  it.each([400, 404, 410, 500, 503])('is a failure for the status %d, with its response', async (status) => {
    respond = (_request, response) => response.writeHead(status).end('why');
    const error = `the status ${status} does not mean success`;
    expect(await post()).toMatchObject({ outcome: 'refused', status, response: 'why', error });
  });

  it.each<[string, () => string, number | null]>([
    ['seconds', () => '120', 120],
    ['a date', () => new Date(Date.now() + 60_000).toUTCString(), 60],
    ['neither', () => 'soon', null],
  ])('reports the pause of Retry-After: %s', async (_, header, expected) => {
    respond = (_request, response) => response.writeHead(429, { 'Retry-After': header() }).end();
    const { retryAfterSeconds } = await post();
    // A date has whole seconds, and time passes.
    expect(retryAfterSeconds === null ? null : Math.ceil(retryAfterSeconds / 60) * 60).toBe(expected);
  });

  it('has the first kB of a response, whose end is not waited for', async () => {
    respond = (_request, response) => {
      response.write(`\0${'ä'.repeat(STORED_RESPONSE_BYTES)}`);
    };
    const { response: text, ...result } = await post();
    expect(result).toMatchObject({ outcome: 'delivered', status: 200 });
    expect(text).toBe(`\uFFFD${'ä'.repeat(STORED_RESPONSE_BYTES / 2 - 1)}`);
  });

  it('is known by the status when the body does not come', async () => {
    respond = (_request, response) => response.write('a');
    expect(await post(undefined, 20_000)).toMatchObject({ outcome: 'delivered', response: 'a' });
  });

  it('is a failure when there is no response in time', async () => {
    respond = () => undefined;
    expect(await post(undefined, 200)).toMatchObject({
      outcome: 'timeout',
      status: null,
      error: 'no response in time',
    });
  });

  it('is a failure in time when no DNS server responds', async () => {
    const result = await send(urlOf('silent.test'), sender(LOOPBACK, 2000, dns.impatient));
    expect(result).toMatchObject({ outcome: 'unreachable', error: 'the name has no address' });
  });

  it.each(['empty.test', 'missing.test'])('is a failure for a name without an address: %s', async (name) => {
    expect(await post(urlOf(name))).toMatchObject({
      outcome: 'unreachable',
      error: 'the name has no address',
    });
  });

  it('is a failure when there is no listener, and the text names no address', async () => {
    const server = net.createServer();
    const port = await listen(server);
    server.close();
    expect(await post(`http://receiver.test:${port}/`)).toMatchObject({
      outcome: 'unreachable',
      error: 'the connection failed: ECONNREFUSED',
    });
  });

  it('is a failure for an invalid response: another protocol, a change of it, and a huge head', async () => {
    const responses = [
      'SSH-2.0-OpenSSH\r\n',
      'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n',
      `HTTP/1.1 200 OK\r\nX: ${'a'.repeat(100_000)}\r\n\r\n`,
    ];
    for (const text of responses) {
      const server = net.createServer((socket) => socket.on('error', () => undefined).end(text));
      const url = `http://127.0.0.1:${await listen(server)}/`;
      expect(await post(url)).toMatchObject({ outcome: 'unreachable', status: null });
      server.close();
    }
  });

  it.each([
    ['interim responses', '', 'HTTP/1.1 102 Processing\r\n\r\n'],
    ['empty lines', '', '\r\n'],
    ['a header of spaces', 'HTTP/1.1 200 OK\r\nX:', ' '],
    [
      'interim responses, each of them short of the limit',
      '',
      `HTTP/1.1 103 Early Hints\r\nX: ${'a'.repeat(9000)}\r\n\r\n`,
    ],
  ])('is a failure when the head does not end: %s', async (_what, begin, more) => {
    const server = net.createServer((socket) => {
      const flood = (): void => {
        while (!socket.destroyed && socket.write(more.repeat(1 + 4096 / more.length)));
      };
      socket.on('error', () => undefined).on('drain', flood);
      socket.once('data', () => (socket.write(begin), flood()));
    });
    const port = await listen(server);
    expect(await post(`http://127.0.0.1:${port}/`)).toMatchObject({
      outcome: 'unreachable',
      status: null,
      error: 'the response contains no status within the first 64 kB',
    });
    server.close();
  });

  it('is a failure when the certificate is not trusted', async () => {
    const server = net.createServer((socket) => socket.on('error', () => undefined).end('no TLS'));
    const { outcome, error } = await post(`https://127.0.0.1:${await listen(server)}/`);
    expect({ outcome, error }).toEqual({
      outcome: 'unreachable',
      error: expect.stringMatching(/^the connection failed: [A-Z0-9_]+$/),
    });
    server.close();
  });

  it('goes to the next address of a name only after more than a second', async () => {
    const silent = await openSilentPort();
    const { outcome, durationMs } = await send(`http://far.test:${silent.port}/`, sender(LOOPBACK));
    expect(outcome).toBe('unreachable');
    // Node's own default is 250 ms.
    expect(durationMs).toBeGreaterThanOrEqual(1490);
    await silent.close();
  });

  it('leaves nothing behind in the signal that can cut it off', async () => {
    const { signal } = new AbortController();
    const sent = sender(LOOPBACK).post(`http://receiver.test:${receiver.port}/`, '{}', HEADERS, signal);
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
    expect((await sent).outcome).toBe('delivered');
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  });

  it('is cut off by its sender', async () => {
    respond = () => undefined;
    const stop = new AbortController();
    const result = post(undefined, 20_000, stop.signal);
    while (receiver.requests.length === 0) await new Promise(setImmediate);
    stop.abort();
    expect(await result).toMatchObject({ outcome: 'cut-off', status: null });
  });
});
