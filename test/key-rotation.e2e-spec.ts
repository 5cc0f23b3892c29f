import { randomUUID } from 'node:crypto';
import { mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ProxyProvider } from '../src/provider';
import { eventually } from './support/built-service';
import { captureLog, type LogCapture } from './support/log-capture';
import { createTestDirectory, removeTestDirectory } from './support/test-directory';
import { startTestService, type TestService, type TestUser } from './support/test-service';

jest.setTimeout(60_000);

const ACCOUNT = '148230';
const BUYERS = 4;

const FIRST = 'key-first-9b1';
const WRONG = 'key-wrong-6d3';
const OF_ANOTHER = 'key-of-another-2f8';
const NONE = 'no key at all';

describe('A new key at the provider', () => {
  let service: TestService;
  let user: TestUser;
  let directory: string;
  let log: LogCapture;
  /** The key that the service uses. */
  let current = FIRST;
  /** The keys of this file, none of which may be logged. */
  const keys = [FIRST, WRONG, OF_ANOTHER, NONE];

  function newKey(): string {
    const key = `key-${randomUUID()}`;
    keys.push(key);
    return key;
  }

  /** Puts a key where the service looks for it, as Kubernetes does: a link is replaced by another one. */
  async function mount(key: string): Promise<void> {
    const version = join(directory, randomUUID());
    await mkdir(version);
    await writeFile(join(version, 'key'), `${key}\n`);
    await symlink(version, `${version}.link`);
    await rename(`${version}.link`, join(directory, 'data'));
  }

  const accept = (...accepted: string[]) =>
    service.control.setKeys({
      ...Object.fromEntries(accepted.map((key) => [key, ACCOUNT])),
      [OF_ANOTHER]: '99',
    });

  const linesWith = (text: string): string[] => log.lines.filter((line) => line.includes(text));
  const changes = (): number => linesWith('the key at the provider was changed').length;

  /** Waits until the service has gone over to the key. */
  async function rotateTo(key: string): Promise<void> {
    const before = changes();
    await mount(key);
    await eventually(() => changes() > before);
    current = key;
  }

  const buy = async (): Promise<number> =>
    (await user.api.POST('/proxies/buy', { body: { country: 'ru', period: 30 } })).response.status;

  const soldCount = async (): Promise<number> => (await service.control.getState()).sales.length;

  const openBreakers = () =>
    service.app
      .get(ProxyProvider)
      .status()
      .breakers.filter(({ state }) => state !== 'closed');

  beforeAll(async () => {
    directory = await createTestDirectory();
    await mount(FIRST);
    log = captureLog();
    // One of its own: the key comes from a file.
    service = await startTestService({
      sandbox: { apiKey: FIRST },
      environment: {
        LOG_LEVEL: 'info',
        PX6_API_KEY: '',
        PX6_API_KEY_FILE: join(directory, 'data', 'key'),
        ORDERS_PER_CALL: '1',
        BREAKER_FAILURES: '2',
        BREAKER_PROBE_MS: '600000',
      },
      jobIntervalsMs: { 'provider-key': 20 },
    });
    user = await service.createUser({ balance: '100000.00' });
    await accept(FIRST);
  });
  afterEach(() => {
    const text = log.lines.join('');
    expect(keys.filter((key) => text.includes(key))).toEqual([]);
  });
  afterAll(async () => {
    await service.close();
    log.stop();
    await removeTestDirectory(directory);
  });

  it('is taken over from its file under purchases, none of which fails or is made twice', async () => {
    const next = newKey();
    const sold = await soldCount();
    await accept(current, next);
    const end = new AbortController();
    const statuses: number[] = [];
    const buyer = async (): Promise<void> => {
      while (!end.signal.aborted) statuses.push(await buy());
    };
    const buyers = Array.from({ length: BUYERS }, buyer);
    await eventually(() => statuses.length > BUYERS);
    await rotateTo(next);
    // What was sent with the key before may be on its way still; each buyer comes to a purchase after it.
    const sentBefore = statuses.length + BUYERS;
    await eventually(() => statuses.length > sentBefore);
    await accept(next);
    const withTheNext = statuses.length + 2 * BUYERS;
    await eventually(() => statuses.length > withTheNext);
    end.abort();
    await Promise.all(buyers);
    expect(new Set(statuses)).toEqual(new Set([200]));
    expect(await soldCount()).toBe(sold + statuses.length);
    await service.audit({ withProvider: true });
  });

  it.each([
    ['that the provider refuses', WRONG, 'the provider refuses the key in PX6_API_KEY_FILE'],
    ['of another account', OF_ANOTHER, 'the key in PX6_API_KEY_FILE belongs to another account'],
    ['that is none', NONE, 'PX6_API_KEY_FILE contains no key'],
  ])('is not used when it is one %s, which is said once', async (_, key, complaint) => {
    const before = changes();
    const sold = await soldCount();
    await mount(key);
    await eventually(() => linesWith(complaint).length > 0);
    expect([await buy(), await buy()]).toEqual([200, 200]);
    expect(await soldCount()).toBe(sold + 2);
    expect(openBreakers()).toEqual([]);
    expect(changes()).toBe(before);
    expect(linesWith(complaint)).toEqual([expect.stringContaining('"level":"error"')]);
  });

  it('is not missed after its file was away', async () => {
    await rm(join(directory, 'data'));
    await eventually(() => linesWith('PX6_API_KEY_FILE cannot be read (ENOENT)').length > 0);
    expect(await buy()).toBe(200);
    const next = newKey();
    await accept(current, next);
    await rotateTo(next);
    expect(await buy()).toBe(200);
  });

  it('opens the orders again at once that the end of the one before has shut', async () => {
    const sold = await soldCount();
    const next = newKey();
    await accept(next);
    await eventually(async () => {
      expect(await buy()).toBe(503);
      return openBreakers().length > 0;
    });
    await rotateTo(next);
    // By itself, the breaker would probe after ten minutes.
    await eventually(async () => (await buy()) === 200);
    expect(await soldCount()).toBe(sold + 1);
    await service.untilSettled();
    await service.audit({ withProvider: true });
  });

  // That none is logged in the other tests either is seen after each of them.
  it('is never logged', async () => {
    const next = newKey();
    await accept(current, next);
    await rotateTo(next);
    expect(await buy()).toBe(200);
  });
});
