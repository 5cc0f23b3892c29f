import { batchedLookup } from './grouped-statement';

function withOpenStatements() {
  const statements: { readonly keys: readonly number[]; complete: () => void }[] = [];
  const lookUp = batchedLookup(
    (keys: readonly number[]) =>
      new Promise<ReadonlyMap<number, number>>((resolve) => {
        statements.push({ keys, complete: () => resolve(new Map(keys.map((key) => [key, key]))) });
      }),
  );
  return { lookUp, statements };
}

describe('batchedLookup', () => {
  const requested: (readonly number[])[] = [];
  const lookUp = batchedLookup(async (keys: readonly number[]) => {
    requested.push(keys);
    if (keys.includes(13)) throw new Error('unlucky');
    return new Map(keys.filter((key) => key < 100).map((key) => [key, `number ${key}`]));
  });
  beforeEach(() => void requested.splice(0));

  it('sends one statement for the look-ups of one turn and gives each its result', async () => {
    expect(await Promise.all([lookUp(1), lookUp(2), lookUp(1), lookUp(100)])).toEqual([
      'number 1',
      'number 2',
      'number 1',
      undefined,
    ]);
    expect(requested).toEqual([[1, 2, 1, 100]]);
  });

  it('sends another statement for later look-ups, also while the first one runs', async () => {
    const first = lookUp(1);
    await new Promise(setImmediate);
    await Promise.all([first, lookUp(1)]);
    await lookUp(1);
    expect(requested).toEqual([[1], [1], [1]]);
  });

  it('sends one statement for all that was requested while the one before ran', async () => {
    const { lookUp: slowLookUp, statements } = withOpenStatements();
    const first = slowLookUp(1);
    await new Promise(setImmediate);
    const second = slowLookUp(2);
    await new Promise(setImmediate);
    const third = slowLookUp(3);
    await new Promise(setImmediate);
    expect(statements.map(({ keys }) => keys)).toEqual([[1]]);
    statements[0]?.complete();
    expect([await first, statements.map(({ keys }) => keys)]).toEqual([1, [[1], [2, 3]]]);
    statements[1]?.complete();
    expect(await Promise.all([second, third])).toEqual([2, 3]);
  });

  it('does not wait for a statement that hangs', async () => {
    const { lookUp: slowLookUp, statements } = withOpenStatements();
    const hanging = slowLookUp(1);
    await new Promise(setImmediate);
    const second = slowLookUp(2);
    while (statements.length < 2) await new Promise(setImmediate);
    statements[1]?.complete();
    expect(await second).toBe(2);
    statements[0]?.complete();
    expect(await hanging).toBe(1);
  });

  it('rejects all look-ups of a failed statement and no others', async () => {
    const together = [lookUp(1), lookUp(13)];
    await expect(together[0]).rejects.toThrow('unlucky');
    await expect(together[1]).rejects.toThrow('unlucky');
    expect(await lookUp(1)).toBe('number 1');
  });

  it('limits the number of keys in a statement', async () => {
    await Promise.all(Array.from({ length: 450 }, (_, key) => lookUp(key % 100 === 13 ? 1 : key)));
    expect(requested.map(({ length }) => length)).toEqual([200, 200, 50]);
  });
});
