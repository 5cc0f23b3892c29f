import { chmod, mkdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTestDirectory } from '../../../test/support/test-directory';
import { messageOf } from '../../common';
import { canEnter, getServerAccount, mayEnter, type ServerAccount } from './embedded-account';

const stranger: ServerAccount = { uid: 54_321, gid: 54_321, isSelf: false };

describe('the account of the embedded server', () => {
  let directory: string;

  beforeEach(async () => {
    directory = await createTestDirectory();
  });

  afterEach(() => rm(directory, { recursive: true }));

  it('enters a directory that everybody may enter, below others like it', async () => {
    const inner = join(directory, 'inner');
    await mkdir(inner, { mode: 0o711 });

    expect(await canEnter(stranger, inner)).toBe(await canEnter(stranger, tmpdir()));
  });

  it('cannot enter a directory below one that is closed to it', async () => {
    await mkdir(join(directory, 'closed', 'open'), { recursive: true });
    await chmod(join(directory, 'closed'), 0o700);

    expect(await canEnter(stranger, join(directory, 'closed', 'open'))).toBe(false);
  });

  it('is judged by the bits of its group before those of everybody', async () => {
    await chmod(directory, 0o701);
    const { gid } = await stat(directory);

    expect(await mayEnter(stranger, directory)).toBe(true);
    expect(await mayEnter({ ...stranger, gid }, directory)).toBe(false);
  });

  it('is the owner of existing data, as whom only root may act', async () => {
    const owner = Object.assign(await stat(directory), { uid: 54_321, gid: 54_321 });
    const outcome = await getServerAccount({ path: directory, owner }, () => undefined).catch(messageOf);
    const refusal = `${directory} belongs to another user (uid 54321): start as that user, or set DATA_DIR.`;
    expect(outcome).toEqual(process.geteuid?.() === 0 ? stranger : refusal);
  });
});
