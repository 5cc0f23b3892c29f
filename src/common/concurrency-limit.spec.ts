import { ConcurrencyLimit } from './concurrency-limit';

it('The signal that ends a wait for a turn does not end work that has begun', async () => {
  const turns = new ConcurrencyLimit<number>(1, 1);
  const end = new AbortController();
  let finish: (text: string) => void = () => undefined;
  const begun = turns.run(1, () => new Promise<string>((resolve) => (finish = resolve)), end.signal);
  const waiting = turns.run(1, () => Promise.resolve('too late'), end.signal);
  end.abort(new Error('the wait is over'));
  await expect(waiting).rejects.toThrow('the wait is over');
  finish('done');
  expect(await begun).toBe('done');
});

it('Work that enters counts for each of its keys, once, and waiting work begins when it leaves', async () => {
  const turns = new ConcurrencyLimit<string>(3, 2);
  const leave = turns.enter('a', 'b');
  turns.enter('a');
  expect([turns.enter('b', 'a'), turns.of('a'), turns.of('b')]).toEqual([null, 2, 1]);
  const waiting = turns.run('a', () => Promise.resolve('begun'));
  expect(turns.waitingOf('a')).toBe(1);
  leave?.();
  leave?.();
  expect(await waiting).toBe('begun');
  await Promise.resolve();
  expect([turns.of('a'), turns.of('b')]).toEqual([1, 0]);
  expect([turns.enter('b'), turns.enter('b'), turns.enter('c')]).toEqual([
    expect.any(Function),
    expect.any(Function),
    null,
  ]);
});
