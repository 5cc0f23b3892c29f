import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EnvironmentError, readEnvironment } from './environment';

const KEY = 'c0ffee-c0ffee';
const DATABASE = 'postgres://user:hunter2@db.internal:5432/proxies';
const OWNER = 'postgres://owner:hunter2@db.internal:5432/proxies';
let directory: string;

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'secrets-'));
});
afterAll(() => rmSync(directory, { recursive: true }));

function fileOf(name: string, content: string): string {
  const path = join(directory, name);
  writeFileSync(path, content);
  return path;
}

function complaintOf(variables: Readonly<Record<string, string>>): string {
  try {
    readEnvironment(variables);
    return '';
  } catch (error) {
    if (error instanceof EnvironmentError) return error.problems.join('\n');
    throw error;
  }
}

describe('A secret in a file', () => {
  it('is read without the white space around it, and counts as given', () => {
    const { database, provider } = readEnvironment({
      DATABASE_URL_FILE: fileOf('url', `${DATABASE}\n`),
      DATABASE_OWNER_URL_FILE: fileOf('owner-url', ` ${OWNER}\r\n`),
      PX6_API_KEY_FILE: fileOf('key', `${KEY}\n`),
    });
    expect(database).toMatchObject({ url: DATABASE, ownerUrl: OWNER });
    expect(provider).toMatchObject({ kind: 'px6', apiKey: KEY, apiKeyFile: join(directory, 'key') });
  });

  it('may be absent, and an empty name of a file counts as none', () => {
    expect(readEnvironment({ PX6_API_KEY_FILE: '', DATABASE_URL_FILE: ' ' })).toEqual(readEnvironment({}));
  });

  it.each<[what: string, variables: () => Record<string, string>, complaint: string]>([
    [
      'is given twice',
      () => ({ PX6_API_KEY: KEY, PX6_API_KEY_FILE: fileOf('key', KEY) }),
      'PX6_API_KEY conflicts with PX6_API_KEY_FILE: set only one of them',
    ],
    [
      'is not there',
      () => ({ DATABASE_URL_FILE: join(directory, 'nowhere'), PROVIDER: 'sandbox' }),
      'DATABASE_URL_FILE names a file that cannot be read (ENOENT)',
    ],
    [
      'is a directory',
      () => ({ DATABASE_OWNER_URL_FILE: directory }),
      'DATABASE_OWNER_URL_FILE names a file that cannot be read (EISDIR)',
    ],
    [
      'is empty',
      () => ({ DATABASE_URL: DATABASE, PX6_API_KEY_FILE: fileOf('key', '\n') }),
      'PX6_API_KEY_FILE names an empty file',
    ],
    [
      'is none',
      () => ({ PX6_API_KEY_FILE: fileOf('key', 'hunter2/hunter2') }),
      'PX6_API_KEY must be letters, digits, - and _',
    ],
  ])('is refused without its content when it %s', (_, variables, complaint) => {
    expect(complaintOf(variables())).toBe(complaint);
  });

  it('is read for secrets alone', () => {
    expect(readEnvironment({ PORT_FILE: join(directory, 'nowhere') })).toEqual(readEnvironment({}));
  });
});
