import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { listen } from '../../test/support/listen';
import { DirectoryInUseError, DirectoryLock } from './directory-lock';

const ROUNDS = 20;
const RIVALS = 8;
const alive = new Set<string>();
const server = createServer(({ url = '' }, response) => {
  const instance = url.slice(1);
  response.end(JSON.stringify(alive.has(instance) ? { instance } : {}));
});

let directory: string;
let controlUrl: string;
beforeAll(async () => {
  controlUrl = `http://127.0.0.1:${await listen(server)}`;
});
afterAll(() => server.close());
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'lock-'));
});
afterEach(() => rm(directory, { recursive: true }));

const ownerOf = (instance: string) => ({
  pid: process.pid,
  controlUrl: `${controlUrl}/${instance}`,
  instance,
});

describe('The lock of a directory', () => {
  it('is taken over from a killed owner by exactly one of several starts', async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      alive.clear();
      await writeFile(join(directory, 'lock.json'), JSON.stringify(ownerOf(`killed-${round}`)));
      const starts = await Promise.allSettled(
        Array.from({ length: RIVALS }, async (_, rival) => {
          const instance = `${round}-${rival}`;
          alive.add(instance);
          try {
            await new DirectoryLock(directory).acquire(ownerOf(instance));
          } catch (error) {
            alive.delete(instance);
            throw error;
          }
        }),
      );
      const refused = starts.filter((start) => start.status === 'rejected').map(({ reason }) => reason);
      expect(refused).toEqual(Array.from({ length: RIVALS - 1 }, () => expect.any(DirectoryInUseError)));
    }
  });

  it('is taken over from a successor that was killed before it had replaced the lock', async () => {
    const killed = JSON.stringify(ownerOf('killed'));
    const name = `lock.json.after-${createHash('sha256').update(killed).digest('hex')}`;
    await writeFile(join(directory, 'lock.json'), killed);
    await writeFile(join(directory, name), JSON.stringify(ownerOf('killed-too')));
    const owner = ownerOf('next');
    await new DirectoryLock(directory).acquire(owner);
    expect(await readdir(directory)).toEqual(['lock.json']);
    expect(JSON.parse(await readFile(join(directory, 'lock.json'), 'utf8'))).toEqual(owner);
  });
});
