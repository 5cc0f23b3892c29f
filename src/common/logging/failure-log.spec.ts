import { FailureLog } from './failure-log';

describe('FailureLog', () => {
  it('logs each error once, and counts the failures until the work succeeds', () => {
    const lines: string[] = [];
    const add = (line: string): number => lines.push(line);
    const failures = new FailureLog({ log: add, warn: add, error: add });
    for (const text of ['refused', 'starting', 'refused', 'refused']) {
      failures.failed('sweep', 'a run failed', new Error(text));
    }
    failures.failed('rollup', 'a run failed', new Error('refused'));
    for (const work of ['sweep', 'sweep', 'publish']) failures.succeeded(work);
    failures.failed('sweep', 'a run failed', new Error('refused'));

    expect(lines).toEqual([
      'sweep: a run failed',
      'sweep: a run failed',
      'rollup: a run failed',
      'sweep: works again after 4 failures',
      'sweep: a run failed',
    ]);
  });

  it('forgets errors that always differ', () => {
    const stacks: unknown[] = [];
    const ignore = (): void => undefined;
    const failures = new FailureLog({ log: ignore, warn: ignore, error: (_, stack) => stacks.push(stack) });
    const fail = (text: string): void => failures.failed('sweep', 'a run failed', new Error(text));
    for (let id = 0; id <= 100; id += 1) fail(`order ${id}`);
    fail('order 0');
    expect(stacks).toHaveLength(102);
  });
});
