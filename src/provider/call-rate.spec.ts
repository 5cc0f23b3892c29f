import { CallRate } from './call-rate';
import { ProviderUnavailable } from './provider-errors';

describe('CallRate', () => {
  it('never lets more than its number into any window', async () => {
    const rate = new CallRate(3, 100);
    const starts: number[] = [];
    await Promise.all(
      Array.from({ length: 10 }, async () => {
        await rate.waitForTurn('order', 10_000);
        starts.push(performance.now());
      }),
    );
    expect(starts).toHaveLength(10);
    const spansOfFour = starts.slice(3).map((start, at) => start - (starts[at] ?? Number.NaN));
    expect(Math.min(...spansOfFour)).toBeGreaterThanOrEqual(100);
  });

  it('lets the first calls pass at once', async () => {
    const rate = new CallRate(3, 60_000);
    await Promise.all([
      rate.waitForTurn('order', 0),
      rate.waitForTurn('order', 0),
      rate.waitForTurn('order', 0),
    ]);
  });

  it('turns away who would have to wait too long, and serves the next in line', async () => {
    const rate = new CallRate(1, 50);
    await rate.waitForTurn('order', 0);
    const impatient = rate.waitForTurn('order', 1);
    const patient = rate.waitForTurn('order', 10_000);
    await expect(impatient).rejects.toBeInstanceOf(ProviderUnavailable);
    await patient;
  });

  it('gives confirmations one call in three while orders wait, and all there is when none do', async () => {
    const rate = new CallRate(1, 1);
    await rate.waitForTurn('rest', 0);
    const served: string[] = [];
    const call = async (priority: 'order' | 'confirmation' | 'rest') => {
      await rate.waitForTurn(priority, 60_000);
      served.push(priority.slice(0, 1));
    };
    await Promise.all([
      ...Array.from({ length: 2 }, () => call('rest')),
      ...Array.from({ length: 4 }, () => call('confirmation')),
      ...Array.from({ length: 6 }, () => call('order')),
    ]);
    expect(served.join('')).toBe('oocoocooccrr');
  });
});
