import { randomUUID } from 'node:crypto';
import { mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ProxyProvider } from '../../src/provider';
import { eventually } from '../support/built-service';
import { captureLog, type LogCapture } from '../support/log-capture';
import { createTestDirectory, removeTestDirectory } from '../support/test-directory';
import { startTestService, type TestService, type TestUser } from '../support/test-service';

const ACCOUNT = '148230';
const BUYERS = 4;

const KEYS = {
  first: 'key-first-9b1',
  second: 'key-second-4c7',
  wrong: 'key-wrong-6d3',
  ofAnother: 'key-of-another-2f8',
  none: 'no key at all',
};

describe('A new key at the provider', () => {
  let service: TestService;
  let user: TestUser;
  let directory: string;
  let log: LogCapture;

  async function mount(key: string): Promise<void> {
    const version = join(directory, randomUUID());
    await mkdir(version);
    await writeFile(join(version, 'key'), `${key}\n`);
    await symlink(version, `${version}.link`);
    await rename(`${version}.link`, join(directory, 'data'));
  }

  const accept = (...keys: string[]) =>
    service.control.setKeys({
      ...Object.fromEntries(keys.map((key) => [key, ACCOUNT])),
      [KEYS.ofAnother]: '99',
    });

  const linesWith = (text: string): string[] => log.lines.filter((line) => line.includes(text));
  const changes = (): number => linesWith('now using the new provider key').length;

  async function rotateTo(key: string): Promise<void> {
    const before = changes();
    await mount(key);
    await eventually(() => changes() > before);
  }

  const buy = async (): Promise<number> => (await user.buy()).response.status;
  const soldCount = async (): Promise<number> => (await service.control.getState()).sales.length;

  const openBreakers = () =>
    service.app
      .get(ProxyProvider)
      .status()
      .breakers.filter(({ state }) => state !== 'closed');

  beforeEach(async () => {
    directory = await createTestDirectory();
    await mount(KEYS.first);
    log = captureLog();
    // Not shared: the key comes from a file, and the provider forgets the previous one.
    service = await startTestService({
      sandbox: { apiKey: KEYS.first },
      environment: { LOG_LEVEL: 'info', PX6_API_KEY: '', PX6_API_KEY_FILE: join(directory, 'data', 'key') },
      tuning: { ordersPerCall: 1, breakerFailures: 2, breakerProbeMs: 600_000 },
      jobIntervalsMs: { 'provider-key': 20 },
    });
    user = await service.createUser({ balance: '100000.00' });
    await accept(KEYS.first);
  });
  afterEach(async () => {
    await service.close();
    log.stop();
    const text = log.lines.join('');
    expect(Object.values(KEYS).filter((key) => text.includes(key))).toEqual([]);
    await removeTestDirectory(directory);
  });

  it('is taken over from its file under purchases, none of which fails or is made twice', async () => {
    await accept(KEYS.first, KEYS.second);
    const end = new AbortController();
    const statuses: number[] = [];
    const buyer = async (): Promise<void> => {
      while (!end.signal.aborted) statuses.push(await buy());
    };
    const buyers = Array.from({ length: BUYERS }, buyer);
    await eventually(() => statuses.length > BUYERS);
    await rotateTo(KEYS.second);
    // Earlier calls may use the previous key; each buyer comes to a purchase after it.
    const sentBefore = statuses.length + BUYERS;
    await eventually(() => statuses.length > sentBefore);
    await accept(KEYS.second);
    const withTheNext = statuses.length + 2 * BUYERS;
    await eventually(() => statuses.length > withTheNext);
    end.abort();
    await Promise.all(buyers);
    expect(new Set(statuses)).toEqual(new Set([200]));
    expect(await soldCount()).toBe(statuses.length);
    await service.audit({ withProvider: true });
  });

  it('is not used when it is wrong, of another account, none or away, which is said once each', async () => {
    const mistakes: [key: string, complaint: string][] = [
      [KEYS.wrong, 'the provider rejects the key in PX6_API_KEY_FILE'],
      [KEYS.ofAnother, 'the key in PX6_API_KEY_FILE belongs to another account'],
      [KEYS.none, 'PX6_API_KEY_FILE contains no key'],
    ];
    // The response shows whose key is in use.
    expect(await buy()).toBe(200);
    for (const [key, complaint] of mistakes) {
      await mount(key);
      await eventually(() => linesWith(complaint).length > 0);
      expect(await buy()).toBe(200);
      expect(linesWith(complaint)).toEqual([expect.stringContaining('"level":"error"')]);
    }
    await rm(join(directory, 'data'));
    await eventually(() => linesWith('PX6_API_KEY_FILE cannot be read (ENOENT)').length > 0);
    expect(await buy()).toBe(200);
    expect(await soldCount()).toBe(5);
    expect(openBreakers()).toEqual([]);
    expect(changes()).toBe(0);
    await accept(KEYS.first, KEYS.second);
    await rotateTo(KEYS.second);
    expect(await buy()).toBe(200);
  });

  it('opens the orders again at once that the end of the one before has closed', async () => {
    await accept(KEYS.second);
    await eventually(async () => {
      expect(await buy()).toBe(503);
      return openBreakers().length > 0;
    });
    await rotateTo(KEYS.second);
    // By itself, the breaker would probe after ten minutes.
    await eventually(async () => (await buy()) === 200);
    expect(await soldCount()).toBe(1);
    await service.untilSettled();
    await service.audit({ withProvider: true });
  });
});
