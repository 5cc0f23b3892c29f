import net from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { listen } from './listen';
import { connectClient } from './test-database';

/**
 * Before the database receives a statement, while the statement waits for a lock, or after its commit and
 * before its response. A waiting session notices a cut connection only after its wait and commit.
 */
export type Moment = 'before' | 'waiting' | 'after';

export interface Interception {
  readonly statement: string;
  readonly moment: Moment;
  /** A waiting statement can only be `cut`. */
  readonly action: 'hold' | 'cut';
}

export interface Caught {
  readonly reached: Promise<void>;
  readonly letGo: () => void;
}

export interface DatabaseRelay {
  readonly url: string;
  catchNext(interception: Interception): Caught;
  cutAll(): void;
  close(): Promise<void>;
}

interface Trap extends Interception {
  readonly spring: () => void;
  readonly released: Promise<void>;
}

/** Stops the traffic at a statement, so that a test can end a process exactly before or after a commit. */
export async function startDatabaseRelay(databaseUrl: string): Promise<DatabaseRelay> {
  const target = new URL(databaseUrl);
  const traps = new Set<Trap>();
  const sockets = new Set<net.Socket>();

  const server = net.createServer((service) => {
    const database = net.connect(Number(target.port), target.hostname);
    const end = () => {
      service.destroy();
      database.destroy();
    };
    let awaited: Trap | undefined;
    const sentStatements = new SentStatements();
    for (const socket of [service, database]) {
      sockets.add(socket);
      socket.setNoDelay(true).on('error', end).on('close', end);
      socket.once('close', () => sockets.delete(socket));
    }
    service.on('data', (chunk: Buffer) => {
      const sent = sentStatements.of(chunk);
      const trap = [...traps].find(({ statement }) => sent.includes(statement));
      if (trap) traps.delete(trap);
      if (trap?.moment === 'before') {
        trap.spring();
        if (trap.action === 'cut') end();
        else void trap.released.then(() => database.write(chunk));
        return;
      }
      database.write(chunk);
      if (trap?.moment === 'waiting') {
        void untilWaiting(databaseUrl, database).then(trap.spring).then(end);
        return;
      }
      awaited ??= trap;
    });
    let tail = Buffer.alloc(0);
    database.on('data', (chunk: Buffer) => {
      const trap = awaited;
      tail = Buffer.concat([tail, chunk]).subarray(-READY_BYTES);
      // A notice is sent before the commit, with all that precedes it.
      if (!trap || !tail.toString('latin1').startsWith(READY_FOR_QUERY)) {
        service.write(chunk);
        return;
      }
      awaited = undefined;
      trap.spring();
      if (trap.action === 'cut') {
        end();
        return;
      }
      database.pause();
      void trap.released.then(() => service.write(chunk)).then(() => database.resume());
    });
  });
  const port = await listen(server);

  return {
    url: Object.assign(new URL(databaseUrl), { host: `127.0.0.1:${port}` }).href,
    catchNext(interception) {
      const caught = openPromise();
      const released = openPromise();
      traps.add({ ...interception, spring: caught.resolve, released: released.promise });
      return { reached: caught.promise, letGo: released.resolve };
    },
    cutAll() {
      for (const socket of sockets) socket.destroy();
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** The end of a response: a letter, the length of the rest, and the state of the transaction. */
const READY_FOR_QUERY = 'Z\0\0\0\x05';
const READY_BYTES = READY_FOR_QUERY.length + 1;

const WATCH_INTERVAL_MS = 5;

async function untilWaiting(databaseUrl: string, connection: net.Socket): Promise<void> {
  const watcher = await connectClient(databaseUrl);
  try {
    while (!connection.destroyed) {
      const { rowCount } = await watcher.query(
        `SELECT FROM pg_stat_activity WHERE client_port = $1 AND wait_event_type = 'Lock'`,
        [connection.localPort],
      );
      if (rowCount) return;
      await pause(WATCH_INTERVAL_MS);
    }
  } finally {
    await watcher.end();
  }
}

const MESSAGE_HEAD_BYTES = 5;

/** Finds statements, including prepared ones, which are sent by name. */
class SentStatements {
  private readonly prepared = new Map<string, string>();
  private rest = Buffer.alloc(0);
  private isStarted = false;

  of(chunk: Buffer): string {
    const texts = [chunk.toString('latin1')];
    this.rest = Buffer.concat([this.rest, chunk]);
    for (let message = this.nextMessage(); message; message = this.nextMessage()) {
      const [first = '', second = ''] = message.body.toString('latin1').split('\0', 2);
      if (message.type === 'P') this.prepared.set(first, second);
      if (message.type === 'B') texts.push(this.prepared.get(second) ?? '');
    }
    return texts.join('');
  }

  /** A message of the frontend has a letter (except the first), a length that includes itself, and a body. */
  private nextMessage(): { type: string; body: Buffer } | undefined {
    const letters = this.isStarted ? 1 : 0;
    if (this.rest.length < MESSAGE_HEAD_BYTES) return undefined;
    const end = letters + this.rest.readUInt32BE(letters);
    if (this.rest.length < end) return undefined;
    const message = {
      type: this.rest.toString('latin1', 0, letters),
      body: this.rest.subarray(letters + 4, end),
    };
    this.rest = this.rest.subarray(end);
    this.isStarted = true;
    return message;
  }
}

function openPromise(): { promise: Promise<void>; resolve: () => void } {
  let resolve: () => void = () => undefined;
  const promise = new Promise<void>((fulfil) => (resolve = fulfil));
  return { promise, resolve };
}
