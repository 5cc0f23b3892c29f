import { Logger } from '@nestjs/common';
import { QueryFailedError } from 'typeorm';
import { retryUndone } from './retry-undone';

it.each([
  ['a deadlock', '40P01', 3],
  ['a serialization failure', '40001', 3],
  ['a lock that was not free in time', '55P03', 1],
])('A statement is run three times at most: after %s', async (_, code, times) => {
  const warn = jest.spyOn(Logger.prototype, 'warn').mockReturnValue();
  const error = new QueryFailedError('SELECT', [], Object.assign(new Error('undone'), { code }));
  const run = jest.fn().mockRejectedValue(error);
  await expect(retryUndone(run)).rejects.toBe(error);
  expect(run).toHaveBeenCalledTimes(times);
  warn.mockRestore();
});
