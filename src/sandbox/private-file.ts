import { randomBytes } from 'node:crypto';
import { chmod, rename, writeFile } from 'node:fs/promises';

/** Writes a file atomically; only its owner can read it. */
export async function writePrivateFile(path: string, content: string): Promise<void> {
  const temporary = temporaryNameFor(path);
  await writeFile(temporary, content, { mode: 0o600 });
  // The umask may have removed permissions of the owner.
  await chmod(temporary, 0o600);
  await rename(temporary, path);
}

export function temporaryNameFor(path: string): string {
  return `${path}.${process.pid}.${randomBytes(4).toString('hex')}`;
}
