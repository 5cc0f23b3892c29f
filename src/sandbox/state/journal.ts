import { type FileHandle, open, readFile, truncate } from 'node:fs/promises';
import { dirname } from 'node:path';
import { hasErrorCode } from '../system';

/** Append-only file of lines. Concurrent writers share one fsync. */
export class Journal {
  private lines: string[] = [];
  private pendingWrite: Promise<void> | undefined;
  private currentWrite: Promise<void> = Promise.resolve();

  private constructor(private readonly file: FileHandle) {}

  static async openAt(path: string): Promise<Journal> {
    const file = await open(path, 'a', 0o600);
    await syncDirectory(dirname(path));
    return new Journal(file);
  }

  append(line: string): void {
    this.lines.push(line);
    this.pendingWrite ??= this.writeAfter(this.currentWrite);
    // Ignore the failure here: `written` and every later write reject with it.
    this.pendingWrite.catch(() => undefined);
  }

  /** Resolves once all appended lines survive a power failure. */
  written(): Promise<void> {
    return this.pendingWrite ?? this.currentWrite;
  }

  async close(): Promise<void> {
    try {
      await this.written();
    } finally {
      await this.file.close();
    }
  }

  private async writeAfter(previous: Promise<void>): Promise<void> {
    await previous;
    const lines = this.lines;
    this.lines = [];
    this.currentWrite = this.write(lines);
    this.pendingWrite = undefined;
    await this.currentWrite;
  }

  private async write(lines: readonly string[]): Promise<void> {
    await this.file.appendFile(`${lines.join('\n')}\n`);
    await this.file.datasync();
  }
}

/** Cuts off an incomplete last line: its writer died before responding, so no client knows of that event. */
export async function readJournal(path: string): Promise<string[]> {
  let content: Buffer;
  try {
    content = await readFile(path);
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT')) return [];
    throw error;
  }
  const length = content.lastIndexOf('\n') + 1;
  if (length < content.length) await truncate(path, length);
  return content
    .subarray(0, length)
    .toString('utf8')
    .split('\n')
    .filter((line) => line !== '');
}

/** Makes a new file in the directory survive a power failure. */
async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}
