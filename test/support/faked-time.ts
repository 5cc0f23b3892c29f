import { existsSync } from 'node:fs';
import { chmod, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createTestDirectory, removeTestDirectory } from './test-directory';

/** The library of Debian's package `faketime`. */
const LIBRARY = ['x86_64-linux-gnu', 'aarch64-linux-gnu']
  .map((machine) => `/usr/lib/${machine}/faketime/libfaketime.so.1`)
  .find((path) => existsSync(path));

export const canFakeTime = LIBRARY !== undefined;

/** The wall clock of child processes, which a test can set while they run. */
export class FakedTime {
  private constructor(private readonly directory: string) {}

  static async start(): Promise<FakedTime> {
    const directory = await createTestDirectory('time-');
    // The programs may run as another user.
    await chmod(directory, 0o755);
    const time = new FakedTime(directory);
    await time.setOffset(0);
    return time;
  }

  /** The monotonic clock of such a process is the machine's. */
  environment(): Readonly<Record<string, string>> {
    return {
      LD_PRELOAD: LIBRARY ?? '',
      FAKETIME_TIMESTAMP_FILE: this.file,
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      NO_FAKE_STAT: '1',
    };
  }

  async setOffset(seconds: number): Promise<void> {
    // Programs never read half a file.
    await writeFile(`${this.file}.new`, `${seconds < 0 ? '' : '+'}${seconds}\n`);
    await rename(`${this.file}.new`, this.file);
  }

  close(): Promise<void> {
    return removeTestDirectory(this.directory);
  }

  private get file(): string {
    return join(this.directory, 'offset');
  }
}
