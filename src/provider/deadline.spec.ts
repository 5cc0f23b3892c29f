import { forEachTest } from '../../test/support/fixtures';
import { TestClock } from '../../test/support/test-clock';
import { Deadline } from './deadline';

describe('A deadline', () => {
  const clock = forEachTest(() => new TestClock());

  it('passes when either clock shows it', () => {
    const deadlines = () => [Deadline.after(10_000, clock), Deadline.after(30_000, clock)];
    const [first, second] = deadlines();
    expect([first?.hasPassed(), second?.hasPassed()]).toEqual([false, false]);
    clock.setWallClock(20);
    expect([first?.hasPassed(), second?.hasPassed()]).toEqual([true, false]);
    expect(second?.remainingMs()).toBeLessThanOrEqual(10_000);
  });

  it('is not put off by a wall clock that is set back', () => {
    const deadline = Deadline.after(10_000, clock);
    clock.setWallClock(-3600);
    expect(deadline.remainingMs()).toBeLessThanOrEqual(10_000);
    clock.advanceSeconds(10);
    expect(deadline.hasPassed()).toBe(true);
  });

  it('that is none never passes', () => {
    expect(Deadline.never.hasPassed()).toBe(false);
    expect(Deadline.never.remainingMs()).toBe(Infinity);
  });
});
