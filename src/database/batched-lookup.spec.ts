import { batchedLookup } from './batched-lookup';

describe('a batched lookup', () => {
  const asked: (readonly number[])[] = [];
  const lookUp = batchedLookup(async (keys: readonly number[]) => {
    asked.push(keys);
    if (keys.includes(13)) throw new Error('unlucky');
    return new Map(keys.filter((key) => key < 100).map((key) => [key, `number ${key}`]));
  });
  beforeEach(() => void asked.splice(0));

  it('asks once for what is asked in one turn, and gives each its own', async () => {
    expect(await Promise.all([lookUp(1), lookUp(2), lookUp(1), lookUp(100)])).toEqual([
      'number 1',
      'number 2',
      'number 1',
      undefined,
    ]);
    expect(asked).toEqual([[1, 2, 1, 100]]);
  });

  it('asks again for what is asked later, also while the first is under way', async () => {
    const first = lookUp(1);
    await new Promise(setImmediate);
    await Promise.all([first, lookUp(1)]);
    await lookUp(1);
    expect(asked).toEqual([[1], [1], [1]]);
  });

  it('fails for all who asked together, and for nobody else', async () => {
    const together = [lookUp(1), lookUp(13)];
    await expect(together[0]).rejects.toThrow('unlucky');
    await expect(together[1]).rejects.toThrow('unlucky');
    expect(await lookUp(1)).toBe('number 1');
  });

  it('does not let a statement grow without end', async () => {
    await Promise.all(Array.from({ length: 450 }, (_, key) => lookUp(key % 100 === 13 ? 1 : key)));
    expect(asked.map(({ length }) => length)).toEqual([200, 200, 50]);
  });
});
