import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { quantile } from 'simple-statistics';
import type { Target } from '../../drills/adversary/attack';
import {
  BUILD_TIMEOUT_MS,
  type BuiltService,
  eventually,
  isRunning,
  residentMb,
  SHIPPED_NODE_OPTIONS,
} from '../support/built-service';
import { beforeClosing, forAllTests } from '../support/fixtures';
import { inLongForm } from '../support/long-form';
import { insertProxies } from '../support/proxy-rows';
import { type Customer, purchase, Replicas, send, sendUntilResponse } from '../support/replicas';
import { openSilentPort } from '../support/silent-port';

const ATTACK = join(__dirname, '..', '..', 'dist', 'drills', 'adversary', 'attack.js');
const ROUND_MS = inLongForm(60_000, 4000);
const CUSTOMERS = 4;
/** The largest export that is written whole, and the most proxies that one request may ping. */
const EXPORTED = 7960;
const PINGED = 990;
const SHIPPED = {
  NODE_OPTIONS: SHIPPED_NODE_OPTIONS,
  TOKEN_REQUESTS_PER_MINUTE: '120000',
  USER_REQUESTS_PER_MINUTE: '240000',
  ADDRESS_FAILURES_PER_MINUTE: '600',
  PURCHASE_WAIT_MS: '10000',
};
/** 1.5 s on two quiet cores. In the short form, the statuses show that no purchase is blocked. */
const SLOWEST_MS = inLongForm(8000, Infinity);
const MAX_GROWTH_MB = 40;

jest.setTimeout(inLongForm(600_000, 180_000));

describe('An adversary with a token of their own', () => {
  let services: BuiltService[];
  let customers: Customer[];
  let attack: ChildProcess | undefined;
  const silent = forAllTests(openSilentPort);
  const replicas = forAllTests(() =>
    Replicas.open({
      tuning: { reconcileIntervalMs: 1000 },
      environment: { ...SHIPPED, WEBHOOK_ALLOW_HTTP: 'true', WEBHOOK_ALLOWED_NETWORKS: '127.0.0.1' },
    }),
  );
  beforeAll(async () => {
    services = [await replicas.start(), await replicas.start()];
    customers = await Promise.all(Array.from({ length: CUSTOMERS }, () => replicas.createCustomer()));
  }, BUILD_TIMEOUT_MS);
  beforeClosing(() => attack?.kill('SIGKILL'));

  const baseUrlOf = (n: number): string => services[n % services.length]?.baseUrl ?? '';

  async function measure(): Promise<{ purchases: number; health: number }> {
    const times = { purchases: [] as number[], health: [] as number[] };
    const refused: object[] = [];
    const endMs = performance.now() + ROUND_MS;
    const time = async (list: number[], work: () => Promise<{ readonly status: number }>): Promise<void> => {
      const startedMs = performance.now();
      const response = await work();
      if (response.status !== 200) refused.push(response);
      list.push(performance.now() - startedMs);
    };
    const buyer = async (customer: Customer, n: number): Promise<void> => {
      for (let at = n; performance.now() < endMs; at += 1) {
        await time(times.purchases, () => send(baseUrlOf(at), purchase(customer)));
        await pause(100);
      }
    };
    const prober = async (n: number): Promise<void> => {
      while (performance.now() < endMs) {
        await time(times.health, () => fetch(`${baseUrlOf(n)}/health`));
        await pause(50);
      }
    };
    await Promise.all([...customers.map(buyer), prober(0), prober(1)]);
    // On a busy machine a few of fifty exceed PURCHASE_WAIT_MS. A blocked customer is refused each time.
    expect(refused.slice(Math.floor(times.purchases.length / 10) + 1)).toEqual([]);
    return { purchases: quantile(times.purchases, 0.9), health: quantile(times.health, 0.9) };
  }

  /** The adversary's inserted proxies break some invariants. */
  const countViolations = async (): Promise<string[]> =>
    (await replicas.findViolations()).map((violation) => violation.replace(/: \[.*$/, ''));

  async function createAdversary(): Promise<Omit<Target, 'baseUrls'>> {
    const adversary = await replicas.createCustomer();
    await insertProxies(replicas, adversary.id, EXPORTED - PINGED);
    const unreachable = { port: String(silent.port), proxyType: 'socks' } as const;
    await insertProxies(replicas, adversary.id, PINGED, unreachable);
    await replicas.control.addFault({
      method: 'buy',
      kind: 'response-lost',
      hiddenForMs: 2 * ROUND_MS + 60_000,
    });
    const { body } = await send(baseUrlOf(0), purchase(adversary, 'open'));
    const orderId = /order (\d+) is being confirmed/.exec(String(body['detail']))?.[1] ?? '';
    expect(orderId).not.toBe('');
    return { token: adversary.token, orderId };
  }

  it('blocks no customer, and occupies memory only during the attack', async () => {
    const known = await createAdversary();
    const violations = await countViolations();
    await measure();
    const quiet = await measure();
    const before = await Promise.all(services.map(residentMb));
    const target: Target = { ...known, baseUrls: services.map(({ baseUrl }) => baseUrl) };
    attack = spawn(process.execPath, [ATTACK, JSON.stringify(target)], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    if (attack.stdout) await once(attack.stdout, 'data');
    const attacked = await measure();
    const most = await Promise.all(services.map(residentMb));
    attack.kill('SIGKILL');

    let after = most;
    await eventually(async () => {
      after = await Promise.all(services.map(residentMb));
      return after.every((mb, n) => mb - (before[n] ?? 0) < MAX_GROWTH_MB);
    }).catch(() => undefined);
    process.stdout.write(`${JSON.stringify({ quiet, attacked, before, most, after })}\n`);
    expect(Math.max(attacked.health, attacked.purchases)).toBeLessThan(SLOWEST_MS);
    for (const [n, mb] of after.entries()) expect(mb - (before[n] ?? 0)).toBeLessThan(MAX_GROWTH_MB);
    expect(services.map(({ pid }) => isRunning(pid))).toEqual([true, true]);
    const settled = await sendUntilResponse(() => baseUrlOf(1), purchase(customers[0] as Customer, 'after'));
    expect(settled.status).toBe(200);
    expect(await countViolations()).toEqual(violations);
  });
});
