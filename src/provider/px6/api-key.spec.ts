import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { Logger } from '@nestjs/common';
import { createTestDirectory, removeTestDirectory } from '../../../test/support/test-directory';
import type { AppConfig } from '../../config';
import { ProviderRefused } from '../provider-errors';
import { ApiKey } from './api-key';

it('A new key that the provider refuses is tried once a minute, and reported once', async () => {
  const directory = await createTestDirectory();
  const apiKeyFile = join(directory, 'key');
  await writeFile(apiKeyFile, 'a-key-that-is-refused');
  const error = jest.spyOn(Logger.prototype, 'error').mockReturnValue();
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const key = new ApiKey({ provider: { apiKey: 'the-key-in-use', apiKeyFile } } as unknown as AppConfig);
  const accountOf = jest.fn().mockRejectedValue(new ProviderRefused('misconfigured'));
  const nowMs = performance.now();
  const now = jest.spyOn(performance, 'now').mockReturnValue(nowMs);
  for (let times = 0; times < 3; times += 1) await key.follow(accountOf);
  expect(accountOf).toHaveBeenCalledTimes(1);
  now.mockReturnValue(nowMs + 60_001);
  await key.follow(accountOf);
  expect(accountOf).toHaveBeenCalledTimes(2);
  expect([key.current, error.mock.calls.length]).toEqual(['the-key-in-use', 1]);
  jest.restoreAllMocks();
  await removeTestDirectory(directory);
});
