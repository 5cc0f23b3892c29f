import { Logger } from '@nestjs/common';
import { QueryFailedError } from 'typeorm';
import { retryUndone } from './retry-undone';

it.each([
  ['a deadlock', { code: '40P01' }, 3],
  ['a serialization failure', { code: '40001' }, 3],
  ['an outdated plan, in any language', { code: '0A000', routine: 'RevalidateCachedQuery' }, 3],
  ['a feature that the server lacks', { code: '0A000', routine: 'transformStmt' }, 1],
  ['a lock that was not free in time', { code: '55P03' }, 1],
])('A statement is run three times at most: after %s', async (_, response, times) => {
  const warn = jest.spyOn(Logger.prototype, 'warn').mockReturnValue();
  const error = new QueryFailedError('SELECT', [], Object.assign(new Error('undone'), response));
  const run = jest.fn().mockRejectedValue(error);
  await expect(retryUndone(run)).rejects.toBe(error);
  expect(run).toHaveBeenCalledTimes(times);
  warn.mockRestore();
});
