import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { LoadJob, LoadResult } from './load-job';

const PROGRAM = join(__dirname, 'main.js');

/** Generates load in a separate process, so that it does not delay the program under measurement. */
export class Generator {
  private readonly child: ChildProcess;

  constructor() {
    this.child = fork(PROGRAM, [], { env: {}, execArgv: [], serialization: 'advanced' });
    const kill = (): void => void this.child.kill('SIGKILL');
    process.once('exit', kill);
    this.child.once('close', () => process.off('exit', kill));
  }

  /** Runs one load at a time. */
  async run(job: LoadJob): Promise<LoadResult> {
    const ending = new AbortController();
    const { signal } = ending;
    this.child.send(job);
    try {
      const [answer] = (await Promise.race([
        once(this.child, 'message', { signal }),
        once(this.child, 'exit', { signal }).then(() => [{ error: 'The load generator has exited' }]),
      ])) as [{ result?: LoadResult; error?: string }];
      if (!answer.result) throw new Error(answer.error);
      return answer.result;
    } finally {
      ending.abort();
    }
  }

  async close(): Promise<void> {
    if (this.child.exitCode !== null) return;
    const ended = once(this.child, 'exit');
    this.child.disconnect();
    await ended;
  }
}
