import { getEventListeners, once } from 'node:events';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { TimeLimit } from './time-limit';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

describe('A time limit', () => {
  it('comes although garbage was collected meanwhile', async () => {
    const outer = new TimeLimit(60_000);
    const limit = new TimeLimit(50, outer.signal);
    const aborted = once(limit.signal, 'abort');
    collectGarbage();
    await aborted;
    expect(limit.isOver).toBe(true);
    outer.release();
  });

  it('ends with the other signal, in which it leaves nothing', () => {
    const other = new AbortController();
    const limits = [new TimeLimit(60_000, other.signal), new TimeLimit(60_000, other.signal)] as const;
    limits[0].release();
    expect(getEventListeners(other.signal, 'abort')).toHaveLength(1);
    other.abort();
    expect(limits.map(({ signal, isOver }) => [signal.aborted, isOver])).toEqual([
      [false, false],
      [true, false],
    ]);
    const late = new TimeLimit(60_000, other.signal);
    expect(late.signal.aborted).toBe(true);
    for (const limit of [limits[1], late]) limit.release();
    expect(getEventListeners(other.signal, 'abort')).toHaveLength(0);
  });
});
