import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { TokensService } from '../src/auth';
import { provideDemo } from '../src/local';
import { forAllTests } from './support/fixtures';
import { createTestDirectory, removeTestDirectory } from './support/test-directory';
import { sharedTestService } from './support/test-service';

describe('The token of the demo user', () => {
  const service = forAllTests(sharedTestService);

  it('stays in a file that other users cannot read, and is issued again once it has ended', async () => {
    const directory = await createTestDirectory();
    const file = join(directory, 'demo-token');
    const provide = async (): Promise<string> => (await provideDemo(service.app, directory)).token;
    const token = await provide();
    expect([await readFile(file, 'utf8'), (await stat(file)).mode & 0o777]).toEqual([token, 0o600]);
    expect(await provide()).toBe(token);
    const tokens = service.app.get(TokensService);
    await tokens.revoke((await tokens.findCaller(token))?.tokenId ?? 0);
    expect(await provide()).not.toBe(token);
    await removeTestDirectory(directory);
  });
});
