import type { DataSource } from 'typeorm';
import { SystemClock } from '../../common';
import { LinkUses } from './link-uses';

it('Uses of links that could not be written are written with the next ones', async () => {
  const query = jest.fn().mockResolvedValue([]).mockRejectedValueOnce(new Error('no database'));
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const uses = new LinkUses({ query } as unknown as DataSource, new SystemClock());
  uses.note(17);
  await expect(uses.write()).rejects.toThrow('no database');
  uses.note(17);
  await uses.write();
  expect(query).toHaveBeenLastCalledWith(expect.any(String), [[17], [2], [expect.any(Date)]]);
  await uses.write();
  expect(query).toHaveBeenCalledTimes(2);
});
