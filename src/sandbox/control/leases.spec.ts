import { type RunningSandbox, startSandbox } from '..';

/** A sandbox, and a promise that resolves when it is unused. */
async function startWithUnusedPromise(
  firstLeaseWithinMs: number,
): Promise<{ sandbox: RunningSandbox; unused: Promise<string> }> {
  let sandbox: Promise<RunningSandbox> | undefined;
  const unused = new Promise<string>((resolve) => {
    sandbox = startSandbox({ firstLeaseWithinMs, onUnused: () => resolve('unused') });
  });
  if (!sandbox) throw new Error('The sandbox was not started');
  return { sandbox: await sandbox, unused };
}

test('a sandbox without a lease in time is unused', async () => {
  const { sandbox, unused } = await startWithUnusedPromise(50);

  await expect(unused).resolves.toBe('unused');
  await sandbox.close();
});

test('a sandbox is in use until its last lease ends', async () => {
  const { sandbox, unused } = await startWithUnusedPromise(5000);
  const leaving = new AbortController();
  const lease = await fetch(`${sandbox.controlUrl}/lease`, {
    headers: { authorization: `Bearer ${sandbox.controlSecret}` },
    signal: leaving.signal,
  });
  expect(lease.status).toBe(200);

  leaving.abort();

  await expect(unused).resolves.toBe('unused');
  await sandbox.close();
});
