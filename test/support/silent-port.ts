import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';

const QUEUE_LENGTH = 1;
/** Listens, says where, and never looks at its sockets again. */
const LISTENER = `
  const server = require('node:net').createServer().listen({ port: 0, host: '127.0.0.1', backlog: ${QUEUE_LENGTH} }, () => {
    require('node:fs').writeSync(1, String(server.address().port));
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  });`;

export interface SilentPort {
  readonly port: number;
  close(): Promise<void>;
}

/** A port at which a connection is neither made nor refused, as behind a firewall: its queue is full for good. */
export async function openSilentPort(): Promise<SilentPort> {
  const listener = spawn(process.execPath, ['-e', LISTENER], { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(listener, 'exit');
  const [text] = (await once(listener.stdout, 'data')) as [Buffer];
  const port = Number(text.toString());
  const fillers = Array.from({ length: 4 + QUEUE_LENGTH }, () =>
    connect(port, '127.0.0.1').on('error', () => undefined),
  );
  // The kernel lets one more in than the queue is long.
  await Promise.all(fillers.slice(0, 1 + QUEUE_LENGTH).map((socket) => once(socket, 'connect')));
  return {
    port,
    async close() {
      for (const socket of fillers) socket.destroy();
      listener.kill('SIGKILL');
      await ended;
    },
  };
}
