import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { ResponseReader } from './response-reader';

export interface CompletedRequest {
  readonly status: number;
  /** Times are those of `performance.now()`. */
  readonly sentAtMs: number;
  /** When the first byte of the body arrived. */
  readonly begunAtMs: number;
  readonly answeredAtMs: number;
}

/**
 * A keep-alive connection with one request at a time. It uses a socket directly: the cost of an HTTP client
 * that parses and copies would be measured with the server.
 */
export class Connection {
  private readonly reader = new ResponseReader();
  private waiting: ((answered: CompletedRequest) => void) | null = null;
  private sentAtMs = 0;
  private begunAtMs = Number.NaN;

  private constructor(private readonly socket: Socket) {
    socket.setNoDelay(true);
    socket.on('data', (bytes: Buffer) => this.take(bytes));
    // The 'close' handler reports it as status 0.
    socket.on('error', () => undefined);
    socket.on('close', () => this.answer(0));
  }

  static async open(port: number): Promise<Connection> {
    const socket = connect({ host: '127.0.0.1', port });
    await once(socket, 'connect');
    return new Connection(socket);
  }

  /** @param onAnswer receives status 0 when the connection is lost */
  send(request: Buffer, onAnswer: (answered: CompletedRequest) => void): void {
    this.waiting = onAnswer;
    this.sentAtMs = performance.now();
    this.begunAtMs = Number.NaN;
    if (this.socket.destroyed) this.answer(0);
    else this.socket.write(request);
  }

  get isLost(): boolean {
    return this.socket.destroyed;
  }

  close(): void {
    this.socket.destroy();
  }

  private take(bytes: Buffer): void {
    const isComplete = this.reader.take(bytes);
    if (this.reader.hasBegun && Number.isNaN(this.begunAtMs)) this.begunAtMs = performance.now();
    if (isComplete) this.answer(this.reader.status);
  }

  private answer(status: number): void {
    const { waiting, sentAtMs, begunAtMs } = this;
    this.waiting = null;
    waiting?.({ status, sentAtMs, begunAtMs, answeredAtMs: performance.now() });
  }
}
