import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { SandboxControl, startSandbox } from '../../src/sandbox';
import {
  BUILD_TIMEOUT_MS,
  type BuiltService,
  ensureBuild,
  eventually,
  killLeftovers,
  startBuiltService,
} from '../support/built-service';
import { runCliHere } from '../support/cli';
import { beforeClosing, forAllTests } from '../support/fixtures';
import { makeNextRelease } from '../support/next-release';
import {
  type Customer,
  type Order,
  prolongation,
  purchase,
  send,
  type ServiceResponse,
} from '../support/replicas';
import { connectAsOwner, createTestDatabase } from '../support/test-database';
import { createTestDirectory, removeTestDirectory } from '../support/test-directory';
import { tuned } from '../support/tuning';

const WORKERS = 2;
/** Without it, the workers take the processor from the replicas that start. */
const PAUSE_MS = 250;

class Traffic {
  readonly baseUrls = new Set<string>();
  readonly done: { readonly order: Order; readonly response: ServiceResponse }[] = [];
  /** By status, of orders that were not executed immediately. */
  readonly refusals = new Map<number, number>();
  private readonly workers: Promise<void>[];
  private readonly stopping = new AbortController();
  private sent = 0;

  constructor(private readonly customer: Customer) {
    this.workers = Array.from({ length: WORKERS }, (_, worker) => this.work(worker));
  }

  async goOn(): Promise<void> {
    const enough = this.done.length + 3 * WORKERS;
    await eventually(() => this.done.length > enough);
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await Promise.all(this.workers);
  }

  private async work(worker: number): Promise<void> {
    for (let at = 0; !this.stopping.signal.aborted; at += 1) {
      const bought = await this.execute(purchase(this.customer, `buy-${worker}-${at}`));
      const [proxy] = bought.body['proxies'] as { id: string }[];
      await this.execute(prolongation(this.customer, proxy?.id ?? '', `prolong-${worker}-${at}`));
      await pause(PAUSE_MS);
    }
  }

  private async execute(order: Order): Promise<ServiceResponse> {
    for (;;) {
      const baseUrls = [...this.baseUrls];
      const baseUrl = baseUrls[(this.sent += 1) % baseUrls.length];
      const response = baseUrl === undefined ? undefined : await send(baseUrl, order).catch(() => undefined);
      if (response?.status === 200) {
        this.done.push({ order, response });
        return response;
      }
      if (response) this.refusals.set(response.status, (this.refusals.get(response.status) ?? 0) + 1);
      await pause(20);
    }
  }
}

describe('A rolling change', () => {
  let directory: string;
  let later: readonly string[];
  let environment: Readonly<Record<string, string>>;
  let traffic: Traffic | undefined;
  const database = forAllTests(() => createTestDatabase({ migrated: false }));
  const sandbox = forAllTests(() => startSandbox({ rateLimitPerSecond: null }));
  beforeAll(async () => {
    directory = await createTestDirectory();
    await ensureBuild();
    later = makeNextRelease(directory);
    environment = {
      DATABASE_URL: database.url,
      PX6_API_KEY: sandbox.apiKey,
      PX6_BASE_URL: sandbox.baseUrl,
      LOG_LEVEL: 'warn',
      PROVIDER_RATE_PER_SECOND: '0',
      SETTLEMENT_DELAY_SECONDS: '1',
      ...tuned({ reconcileIntervalMs: 250 }),
      MIGRATE_ON_START: 'false',
      DATA_DIR: join(directory, 'data'),
    };
  }, BUILD_TIMEOUT_MS);
  beforeClosing(async () => {
    await traffic?.stop();
    await killLeftovers();
    await removeTestDirectory(directory);
  });

  const asOwner = () => ({ ...environment, DATABASE_OWNER_URL: database.ownerUrl });

  async function run(parameters: readonly string[]): Promise<Record<string, unknown>> {
    const { code, stdout, stderr } = await runCliHere(parameters, asOwner());
    if (code !== 0) throw new Error(`${parameters.join(' ')}: ${stderr}`);
    return JSON.parse(stdout) as Record<string, unknown>;
  }

  async function createCustomer(): Promise<Customer> {
    const { id } = await run(['users', 'create', '--username', 'test']);
    const user = String(id);
    const [{ token }] = await Promise.all([
      run(['tokens', 'create', '--user', user, '--scopes', 'all']),
      run(['balance', 'credit', '--user', user, '--amount', '1000000', '--reason', 'test', '--key', 'first']),
    ]);
    return { id: Number(id), token: String(token) };
  }

  const startAsOwner = (command?: readonly string[]): Promise<BuiltService> =>
    startBuiltService({ ...asOwner(), MIGRATE_ON_START: 'true' }, command);

  it('to a later release and back, under orders, loses none and doubles none', async () => {
    const owner = await connectAsOwner(database);
    // The first one brings an empty database up to date, and adds nothing to it.
    const first = await startAsOwner();
    expect(first.stdout()).not.toMatch(/token|curl|may do more than it needs/);
    expect(first.stderr()).toBe('');
    expect(await owner.query('SELECT FROM users')).toEqual([]);
    expect(existsSync(environment['DATA_DIR'] ?? '')).toBe(false);

    traffic = new Traffic(await createCustomer());
    traffic.baseUrls.add(first.baseUrl);
    await traffic.goOn();

    // One new replica waits while another one migrates, next to the old ones.
    const waiting = startBuiltService(environment, later);
    const changed = await Promise.all([waiting, startAsOwner(later)]);
    for (const { baseUrl } of changed) {
      expect((await fetch(`${baseUrl}/health/ready`)).status).toBe(200);
      traffic.baseUrls.add(baseUrl);
    }
    const [{ id: firstGreen } = { id: 0 }] = await owner.query<{ id: number }[]>(
      'SELECT max(id) + 1 AS id FROM orders',
    );
    await traffic.goOn();

    // Reverts the change while it is half done: an old replica starts on the new schema.
    const again = await startBuiltService(environment);
    traffic.baseUrls.add(again.baseUrl);
    await traffic.goOn();

    for (const replica of [first, again]) {
      traffic.baseUrls.delete(replica.baseUrl);
      expect((await replica.stop()).code).toBe(0);
      await traffic.goOn();
    }
    await traffic.stop();

    // On a busy machine an order may wait too long for a connection. Nothing else may refuse one.
    expect([...traffic.refusals].filter(([status]) => status !== 503)).toEqual([]);
    const { sales, prolongations } = await new SandboxControl(sandbox).getState();
    const purchases = traffic.done.filter(({ order }) => order.path.endsWith('/buy'));
    expect(sales.flatMap(({ proxyIds }) => proxyIds)).toHaveLength(purchases.length);
    expect(prolongations.flatMap(({ proxies }) => proxies)).toHaveLength(
      traffic.done.length - purchases.length,
    );
    // The trigger of the later release has seen the orders of both.
    const [orders] = await owner.query(
      `SELECT count(*) > 0 AS "areGreen", count(*) = count(colour) AS "areAllGreen"
         FROM orders WHERE id >= $1`,
      [firstGreen],
    );
    expect(orders).toEqual({ areGreen: true, areAllGreen: true });
    await owner.destroy();
    for (const { order, response } of traffic.done.slice(0, WORKERS)) {
      expect(await send(changed[0]?.baseUrl ?? '', order)).toEqual({ ...response, replayed: true });
    }
    expect(await run(['audit', '--provider'])).toMatchObject({ ok: true });
    expect(changed.map((replica) => replica.stderr())).toEqual(['', '']);
  }, 180_000);
});
