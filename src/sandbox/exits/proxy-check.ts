import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { ProxyType } from '../state/state-event';
import { isLoopback } from './loopback';

const TIMEOUT_MS = 3000;

export interface ProxyToTry {
  protocol: ProxyType;
  host: string;
  port: number;
  login: string;
  password: string;
}

/** Connects through the proxy to a local port. Gives the time in milliseconds, or null when it fails. */
export async function tryProxy(proxy: ProxyToTry, targetPort: number): Promise<number | null> {
  if (!isLoopback(proxy.host)) return null;
  const startedAt = performance.now();
  const socket = connect(proxy.port, proxy.host);
  const ended = new AbortController();
  const timer = setTimeout(() => socket.destroy(), TIMEOUT_MS);
  socket.once('close', () => ended.abort());
  // Errors between two steps are reported by the 'close' event that follows.
  socket.on('error', () => undefined);
  try {
    await once(socket, 'connect', { signal: ended.signal });
    const works = await handshakes[proxy.protocol](new Conversation(socket, ended.signal), proxy, targetPort);
    return works ? performance.now() - startedAt : null;
  } catch {
    return null;
  } finally {
    clearTimeout(timer);
    socket.destroy();
  }
}

class Conversation {
  constructor(
    private readonly socket: Socket,
    private readonly ended: AbortSignal,
  ) {}

  /** Sends a message and gives the first `replyLength` bytes of the reply. */
  async ask(message: string | Buffer, replyLength: number): Promise<Buffer> {
    this.socket.write(message);
    for (;;) {
      const reply: unknown = this.socket.read(replyLength);
      if (Buffer.isBuffer(reply)) return reply;
      await once(this.socket, 'readable', { signal: this.ended });
    }
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
