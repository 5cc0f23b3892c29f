import { CallRate } from './call-rate';
import { ProviderUnavailable } from './provider-errors';

describe('CallRate', () => {
  it('never lets more than its number into any window', async () => {
    const rate = new CallRate(3, 100);
    const starts: number[] = [];
    await Promise.all(
      Array.from({ length: 10 }, async () => {
        await rate.waitForTurn(10_000);
        starts.push(performance.now());
      }),
    );
    expect(starts).toHaveLength(10);
    for (const [at, start] of starts.entries()) {
      const third = starts[at + 3];
      if (third !== undefined) expect(third - start).toBeGreaterThanOrEqual(100);
    }
  });

  it('lets the first calls pass at once', async () => {
    const rate = new CallRate(3, 60_000);
    await Promise.all([rate.waitForTurn(0), rate.waitForTurn(0), rate.waitForTurn(0)]);
  });

  it('turns away who would have to wait too long, and serves the next in line', async () => {
    const rate = new CallRate(1, 50);
    await rate.waitForTurn(0);
    const impatient = rate.waitForTurn(1);
    const patient = rate.waitForTurn(10_000);
    await expect(impatient).rejects.toBeInstanceOf(ProviderUnavailable);
    await patient;
  });
});
