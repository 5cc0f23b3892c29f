import { type RunningSandbox, startSandbox } from '..';

/** A sandbox, and a promise of its having become unused. */
async function startWithUnusedPromise(
  firstLeaseWithinMs: number,
): Promise<{ sandbox: RunningSandbox; unused: Promise<string> }> {
  let sandbox: Promise<RunningSandbox> | undefined;
  const unused = new Promise<string>((resolve) => {
    sandbox = startSandbox({ firstLeaseWithinMs, onUnused: () => resolve('unused') });
  });
  if (!sandbox) throw new Error('It was not started');
  return { sandbox: await sandbox, unused };
}

test('a sandbox that nobody leases in time is unused', async () => {
  const { sandbox, unused } = await startWithUnusedPromise(50);

  await expect(unused).resolves.toBe('unused');
  await sandbox.close();
});

test('a lease keeps it in use, until it is given back', async () => {
  const { sandbox, unused } = await startWithUnusedPromise(5000);
  const leaving = new AbortController();
  const lease = await fetch(`${sandbox.controlUrl}/lease`, { signal: leaving.signal });
  expect(lease.status).toBe(200);

  leaving.abort();

  await expect(unused).resolves.toBe('unused');
  await sandbox.close();
});
