import { type FileHandle, open, readFile, rename, truncate } from 'node:fs/promises';
import { dirname } from 'node:path';
import { hasErrorCode } from '../system-error';

/** Where the events of the state are kept. */
export interface Journal {
  append(line: string): void;
  /** Resolves once everything appended so far survives a power cut. */
  written(): Promise<void>;
  close(): Promise<void>;
}

export const MEMORY_ONLY: Journal = {
  append() {},
  written: () => Promise.resolve(),
  close: () => Promise.resolve(),
};

/** An append-only file of lines. Whoever waits at the same moment shares one fsync. */
export class FileJournal implements Journal {
  private lines: string[] = [];
  private pendingWrite: Promise<void> | undefined;
  private currentWrite: Promise<void> = Promise.resolve();

  private constructor(private readonly file: FileHandle) {}

  static async openAt(path: string): Promise<FileJournal> {
    const file = await open(path, 'a', 0o600);
    await syncDirectory(dirname(path));
    return new FileJournal(file);
  }

  append(line: string): void {
    this.lines.push(line);
    this.pendingWrite ??= this.writeAfter(this.currentWrite);
    // A failure belongs to those who wait in written(), and to every record that comes after it.
    this.pendingWrite.catch(() => undefined);
  }

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

/**
 * The lines of a journal; none when there is no file. A last line without its newline was being written when the
 * process died: nobody was answered on the strength of it, so it is cut off.
 */
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

/** Replaces the journal as a whole, or not at all. */
export async function replaceJournal(path: string, lines: Iterable<string>): Promise<void> {
  const temporary = `${path}.new`;
  const file = await open(temporary, 'w', 0o600);
  try {
    await file.writeFile(`${[...lines].join('\n')}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(temporary, path);
  await syncDirectory(dirname(path));
}

/** A new or renamed file survives a power cut only once its directory is synced, too. */
async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}
