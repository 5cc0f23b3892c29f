import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';

const QUEUE_LENGTH = 1;
const LISTENER = `
  const options = { port: 0, host: '127.0.0.1', backlog: ${QUEUE_LENGTH} };
  const server = require('node:http').createServer((_, response) => response.end('{}'));
  server.listen(options, () => {
    const { readSync, writeSync } = require('node:fs');
    writeSync(1, String(server.address().port));
    if (readSync(0, Buffer.alloc(1)) === 0) process.exit();
    process.stdin.on('end', () => process.exit()).resume();
  });`;

export interface SilentPort {
  readonly port: number;
  /** Serves HTTP from now on. TCP repeats an ignored attempt a second later. */
  accept(): void;
  close(): Promise<void>;
}

/** Neither accepts nor refuses connections, like a firewall, because its queue stays full. */
export async function openSilentPort(): Promise<SilentPort> {
  const listener = spawn(process.execPath, ['-e', LISTENER], { stdio: ['pipe', 'pipe', 'ignore'] });
  const ended = once(listener, 'exit');
  const [text] = (await once(listener.stdout, 'data')) as [Buffer];
  const port = Number(text.toString());
  const fillers = Array.from({ length: 4 + QUEUE_LENGTH }, () =>
    connect(port, '127.0.0.1').on('error', () => undefined),
  );
  // The kernel accepts one connection more than the queue length.
  await Promise.all(fillers.slice(0, 1 + QUEUE_LENGTH).map((socket) => once(socket, 'connect')));
  return {
    port,
    accept: () => void listener.stdin.write('.'),
    async close() {
      for (const socket of fillers) socket.destroy();
      listener.kill('SIGKILL');
      await ended;
    },
  };
}
