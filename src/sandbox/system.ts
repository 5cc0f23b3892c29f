import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmod, rename, writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo, Server } from 'node:net';

/** nginx's default. A shorter time would close connections that clients are about to reuse. */
export const KEEP_ALIVE_MS = 75_000;

export function hasErrorCode(error: unknown, code: string): boolean {
  return typeof error === 'object' && error !== null && 'code' in error && error.code === code;
}

/** Atomically writes a file that only its owner can read. */
export async function writePrivateFile(path: string, content: string): Promise<void> {
  const temporary = temporaryNameFor(path);
  await writeFile(temporary, content, { mode: 0o600 });
  // The umask may have removed the owner's permissions.
  await chmod(temporary, 0o600);
  await rename(temporary, path);
}

export function temporaryNameFor(path: string): string {
  return `${path}.${process.pid}.${randomBytes(4).toString('hex')}`;
}

/** @throws tooLong as soon as the body exceeds the limit */
export async function readText(request: IncomingMessage, maxBytes: number, tooLong: Error): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > maxBytes) throw tooLong;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** Returns the chosen port. @throws the last port's error if no port is free */
export async function listenOnFirstFree(
  server: Server,
  host: string,
  ports: readonly number[],
): Promise<number> {
  for (const [index, port] of ports.entries()) {
    try {
      server.listen(port, host);
      await once(server, 'listening');
      return (server.address() as AddressInfo).port;
    } catch (error) {
      const isLast = index === ports.length - 1;
      if (isLast || !hasErrorCode(error, 'EADDRINUSE')) throw error;
    }
  }
  throw new RangeError('No port to listen on was specified');
}

export function stopListening(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
  });
}
