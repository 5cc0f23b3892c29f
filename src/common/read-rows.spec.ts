import { z } from 'zod';
import { readRows } from './read-rows';

const ROW = z.object({ id: z.string(), at: z.object({ day: z.number() }) });

it('An odd row costs itself alone, and the names of its odd fields are known', () => {
  const good = { id: 'a', at: { day: 1 } };
  const odd = { id: 7, at: { day: 'x' } };
  expect(readRows([null, good, odd], 3, ROW)).toEqual({
    rows: [good],
    odd: [
      { row: null, fields: [] },
      { row: odd, fields: ['id', 'at'] },
    ],
  });
});

it.each([[[{}, {}]], [{}], [null], ['text']])('%j, no list of at most one row, is not read', (list) => {
  const read = jest.fn();
  expect(readRows(list, 1, z.unknown().transform(read))).toBeUndefined();
  expect(read).not.toHaveBeenCalled();
});
