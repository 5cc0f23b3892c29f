import { FairTurns } from './fair-turns';

it('The signal that ends a wait for a turn does not end work that has begun', async () => {
  const turns = new FairTurns(1, 1);
  const end = new AbortController();
  let finish: (text: string) => void = () => undefined;
  const begun = turns.run(1, () => new Promise<string>((resolve) => (finish = resolve)), end.signal);
  const waiting = turns.run(1, () => Promise.resolve('too late'), end.signal);
  end.abort(new Error('the wait is over'));
  await expect(waiting).rejects.toThrow('the wait is over');
  finish('done');
  expect(await begun).toBe('done');
});
