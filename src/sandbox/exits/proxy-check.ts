import { connect, type Socket } from 'node:net';
import type { ProxyType } from '../state/state-event';
import { isLoopback } from './loopback';

const TIMEOUT_MS = 3000;
const PROTOCOLS: readonly ProxyType[] = ['http', 'socks'];

export interface ProxyToTry {
  host: string;
  port: number;
  login: string;
  password: string;
}

/** As {@link tryProxy}, for a proxy whose protocol is not known: the first one that works counts. */
export async function tryProtocols(proxy: ProxyToTry, targetPort: number): Promise<number | null> {
  const attempts = PROTOCOLS.map(async (protocol) => {
    const tookMs = await tryProxy(protocol, proxy, targetPort);
    if (tookMs === null) throw new Error(`Not a proxy of type ${protocol}`);
    return tookMs;
  });
  return Promise.any(attempts).catch(() => null);
}

/**
 * Connects through the proxy to a local port. Gives the time in milliseconds, or null when it fails or takes
 * longer than `timeoutMs`.
 */
export async function tryProxy(
  protocol: ProxyType,
  proxy: ProxyToTry,
  targetPort: number,
  timeoutMs = TIMEOUT_MS,
): Promise<number | null> {
  if (!isLoopback(proxy.host)) return null;
  const startedAt = performance.now();
  const socket = connect(proxy.port, proxy.host);
  // The conversation reports errors, too, unless it has ended already.
  socket.on('error', () => undefined);
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), timeoutMs);
  });
  try {
    const conversation = handshakes[protocol](new Conversation(socket), proxy, targetPort);
    return (await Promise.race([conversation, tooLate])) ? performance.now() - startedAt : null;
  } catch {
    return null;
  } finally {
    clearTimeout(timer);
    socket.destroy();
  }
}

class Conversation {
  private readonly chunks: AsyncIterator<Buffer>;
  private received = Buffer.alloc(0);

  constructor(private readonly socket: Socket) {
    this.chunks = socket[Symbol.asyncIterator]();
  }

  /**
   * Sends a message and gives the first `replyLength` bytes of the reply. Every step takes all that has
   * arrived, so it ends or waits for more, however short the reply is.
   */
  async ask(message: string | Buffer, replyLength: number): Promise<Buffer> {
    this.socket.write(message);
    while (this.received.length < replyLength) {
      const { done, value } = await this.chunks.next();
      if (done) throw new Error('The reply is too short');
      this.received = Buffer.concat([this.received, value]);
    }
    const reply = this.received.subarray(0, replyLength);
    this.received = this.received.subarray(replyLength);
    return reply;
  }
}

type Handshake = (conversation: Conversation, proxy: ProxyToTry, targetPort: number) => Promise<boolean>;

const handshakes: Record<ProxyType, Handshake> = {
  async http(conversation, { login, password }, targetPort) {
    const target = `127.0.0.1:${targetPort}`;
    const authorization = Buffer.from(`${login}:${password}`).toString('base64');
    const reply = await conversation.ask(
      `CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\nProxy-Authorization: Basic ${authorization}\r\n\r\n`,
      'HTTP/1.1 200'.length,
    );
    return reply.toString('latin1') === 'HTTP/1.1 200';
  },

  async socks(conversation, { login, password }, targetPort) {
    // RFC 1928: version 5, one method, 2 = login and password.
    const [, method] = await conversation.ask(Buffer.from([5, 1, 2]), 2);
    if (method !== 2) return false;
    // RFC 1929: version 1, then login and password, each prefixed by its length.
    const credentials = [login, password].map((text) => Buffer.from(text));
    const [, refused] = await conversation.ask(
      Buffer.concat([Buffer.from([1]), ...credentials.flatMap((text) => [Buffer.from([text.length]), text])]),
      2,
    );
    if (refused !== 0) return false;
    // Connect (1) to an IPv4 address (1).
    const port = [targetPort >> 8, targetPort & 0xff];
    const [, reply] = await conversation.ask(Buffer.from([5, 1, 0, 1, 127, 0, 0, 1, ...port]), 2);
    return reply === 0;
  },
};
