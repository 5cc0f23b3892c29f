import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import net, { type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { eventually } from '../../test/support/built-service';
import { forAllTests } from '../../test/support/fixtures';
import { listen } from '../../test/support/listen';
import { createOutgoingAgents } from './outgoing-agents';
import { RecordingTransport } from './provider-http';
import { proxyFor } from './proxy-tunnel';

const pem = (name: string): Buffer => readFileSync(join(__dirname, '../../test/fixtures', name));
const TLS = { key: pem('tls-key.pem'), cert: pem('tls-cert.pem') };
/** Longer than a test may take. */
const LONG_MS = 60_000;
const SHORT_MS = 500;

describe('HTTPS_PROXY', () => {
  const PROXY = 'http://proxy.test:3128/';
  const chosen = (url: string, noProxy = '') => proxyFor(url, { httpsProxy: PROXY, noProxy });

  it.each([
    'https://localhost/',
    'https://a.localhost',
    'https://127.0.0.1:8443',
    'https://127.8.9.10',
    'https://[::1]:8443',
    'http://collector.test:4318/v1/traces',
    '',
  ])('is not used for %s', (url) => {
    expect(chosen(url)).toBeUndefined();
  });

  it.each([
    ['px6.link', 'https://px6.link', 'https://notpx6.link'],
    ['.yookassa.ru', 'https://api.yookassa.ru/v3', 'https://yookassa.ru.test'],
    ['*.yookassa.ru', 'https://api.yookassa.ru/v3', 'https://px6.link'],
    ['other.test, PX6.link', 'https://px6.link.', 'https://other.test.ru'],
    ['px6.link:443', 'https://px6.link', 'https://px6.link:8443'],
    ['10.0.0.0/8', 'https://10.1.2.3', 'https://11.1.2.3'],
    ['fd00::/8', 'https://[fd00::7]', 'https://10.1.2.3'],
    ['[fd00::7]:443', 'https://[fd00::7]', 'https://[fd00::7]:8443'],
    ['10.1.2.3', 'https://10.1.2.3', 'https://10.1.2.30'],
  ])('is not used for what NO_PROXY=%s names: %s, unlike %s', (noProxy, direct, through) => {
    expect(chosen(direct, noProxy)).toBeUndefined();
    expect(chosen(through, noProxy)).toBe(PROXY);
  });

  it('is used for nothing with NO_PROXY=*', () => {
    expect(chosen('https://px6.link', '*')).toBeUndefined();
  });
});

describe('An outgoing connection through a proxy', () => {
  const target = forAllTests(() =>
    https.createServer(TLS, (_, response) => response.end('{"status":"yes"}')),
  );
  let received: string[];
  let tunnel: (socket: net.Socket) => void;
  const proxy = forAllTests(() =>
    http
      .createServer(({ method, url }, response) => {
        received.push(`${method} ${url}`);
        response.end('not the target');
      })
      .on('connect', ({ method, url, headers }: http.IncomingMessage, socket: net.Socket) => {
        received.push(`${method} ${url} ${headers['proxy-authorization']}`);
        socket.on('error', () => undefined).on('end', () => socket.end());
        tunnel(socket.resume());
      }),
  );
  const url = forAllTests(async () => {
    await listen(target);
    return new URL(`http://me:secret@127.0.0.1:${await listen(proxy)}`);
  });
  const createAgents = (connectTimeoutMs = LONG_MS) =>
    createOutgoingAgents({ connectTimeoutMs, idleMs: LONG_MS, proxy: url.href });
  const port = () => (target.address() as AddressInfo).port;
  const connectTo = (to: number) => (socket: net.Socket) => {
    const onward = net.connect(to, '127.0.0.1', () => socket.write('HTTP/1.1 200 Connected\r\n\r\n'));
    onward
      .on('error', () => undefined)
      .pipe(socket)
      .pipe(onward);
  };
  const login = `Basic ${Buffer.from('me:secret').toString('base64')}`;

  async function request(
    agents = createAgents(),
  ): Promise<{ readonly outcome: unknown; readonly mayHaveSent: boolean }> {
    const transport = new RecordingTransport();
    const call = transport.request(
      { protocol: 'https:', host: 'outgoing.test', port: port(), agent: agents.httpsAgent, ca: TLS.cert },
      () => undefined,
    );
    call.end();
    try {
      const [response] = (await once(call, 'response')) as [http.IncomingMessage];
      const [body] = (await once(response.setEncoding('utf8'), 'data')) as [string];
      return { outcome: body, mayHaveSent: transport.mayHaveSent };
    } catch (error) {
      return { outcome: (error as NodeJS.ErrnoException).code, mayHaveSent: transport.mayHaveSent };
    }
  }

  beforeEach(() => (received = []));

  it('is a tunnel, which the next request uses as well', async () => {
    tunnel = connectTo(port());
    const agents = createAgents();
    for (let n = 0; n < 2; n += 1) {
      expect(await request(agents)).toEqual({ outcome: '{"status":"yes"}', mayHaveSent: true });
    }
    expect(received).toEqual([`CONNECT outgoing.test:${port()} ${login}`]);
    agents.httpsAgent.destroy();
  });

  it.each([400, 404, 407, 502])('takes a %i of the proxy for no response of the target', async (status) => {
    const body = '{"status":"no","error_id":400}';
    tunnel = (socket) =>
      void socket.end(`HTTP/1.1 ${status} No\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
    expect(await request()).toEqual({ outcome: `PROXY_${status}`, mayHaveSent: false });
  });

  it('ends in time when the proxy is silent', async () => {
    let open: net.Socket | undefined;
    tunnel = (socket) => (open = socket);
    // On a busy machine, time may be up before the proxy has accepted the connection.
    await eventually(async () => {
      expect(await request(createAgents(SHORT_MS))).toMatchObject({ mayHaveSent: false });
      return open;
    });
    await eventually(() => open?.destroyed === true || open?.readableEnded === true);
  });

  it('ends in time when the target is silent behind the tunnel', async () => {
    const mute = net.createServer((socket) => socket.on('error', () => undefined).resume());
    tunnel = connectTo(await listen(mute));
    expect(await request(createAgents(SHORT_MS))).toMatchObject({ mayHaveSent: false });
    mute.close();
  });

  it('fails when the target is gone behind the tunnel', async () => {
    tunnel = (socket) => void socket.end('HTTP/1.1 200 Connected\r\n\r\n');
    expect(await request()).toEqual({ outcome: 'ECONNRESET', mayHaveSent: false });
  });
});
