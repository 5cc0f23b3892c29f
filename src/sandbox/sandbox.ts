import { randomBytes } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { controlRoutes } from './control/control-routes';
import { ControlServer } from './control/control-server';
import { DEFAULT_DIALECT } from './dialect';
import { DirectoryLock } from './directory-lock';
import { Credentials } from './proxy-servers/credentials';
import { ProxyServers } from './proxy-servers/proxy-servers';
import { EventStore } from './state/event-store';
import type { Account } from './state/provider-state';
import { listenOnFirstFree } from './system';
import { FaultPlan } from './wire/faults/fault-plan';
import { Gates } from './wire/faults/gates';
import { ReceivedCalls } from './wire/received-calls';
import { SlidingRateLimit } from './wire/sliding-rate-limit';
import { WireServer } from './wire/wire-server';

const LOOPBACK = '127.0.0.1';
const RATE_PER_SECOND = 3;

export interface SandboxOptions {
  /** Default: keep the state only in memory. */
  directory?: string;
  /** Port, or ports to try in turn. Default 0: any free port. */
  port?: number | readonly number[];
  /** Default: generated, and stored in the directory. */
  apiKey?: string;
  /** `null` for no limit. Default 3, like PROXY6. */
  rateLimitPerSecond?: number | null;
}

export interface RunningSandbox {
  /** For example `http://127.0.0.1:PORT`. Clients append `/api/{key}/{method}/?…`. */
  readonly baseUrl: string;
  readonly controlUrl: string;
  readonly controlSecret: string;
  readonly apiKey: string;
  close(): Promise<void>;
}

/** @throws DirectoryInUseError */
export async function startSandbox(options: SandboxOptions = {}): Promise<RunningSandbox> {
  const closers: Array<() => Promise<void>> = [];
  try {
    return { ...(await start(options, closers)), close: () => closeAll(closers) };
  } catch (error) {
    // Report the failure itself, not errors that occur while closing.
    await closeAll(closers).catch(() => undefined);
    throw error;
  }
}

/** Runs all closers in order, even if some fail. */
async function closeAll(closers: Array<() => Promise<void>>): Promise<void> {
  const closer = closers.shift();
  if (!closer) return;
  try {
    await closer();
  } finally {
    await closeAll(closers);
  }
}

async function start(
  { directory, port = 0, rateLimitPerSecond = RATE_PER_SECOND, ...options }: SandboxOptions,
  closers: Array<() => Promise<void>>,
): Promise<Omit<RunningSandbox, 'close'>> {
  const lock = directory === undefined ? null : await openLock(directory);
  const instance = randomBytes(16).toString('hex');
  const controlSecret = randomBytes(32).toString('hex');
  const control = new ControlServer(instance, controlSecret);
  closers.unshift(() => control.close());
  const controlUrl = `http://${LOOPBACK}:${await listenOnFirstFree(control.server, LOOPBACK, [0])}`;
  if (lock) {
    const owner = { pid: process.pid, controlUrl, instance };
    await lock.acquire(owner);
    closers.unshift(() => lock.release(owner));
  }

  const store = await EventStore.openIn(directory);
  closers.unshift(() => store.close());
  const account = ensureAccount(store);
  const apiKey = options.apiKey ?? account.apiKey;
  const proxyServers = new ProxyServers(store, new Credentials(account.secret));
  closers.unshift(() => proxyServers.close());
  await proxyServers.listen();

  const parts = {
    provider: {
      store,
      proxyServers,
      dialect: { current: DEFAULT_DIALECT },
    },
    keys: new Map([[apiKey, account.userId]]),
    rateLimit: new SlidingRateLimit(rateLimitPerSecond),
    latencies: { current: {} },
    faults: new FaultPlan(),
    gates: new Gates(),
    calls: new ReceivedCalls(),
  };
  await store.durable();
  const wire = new WireServer(parts);
  closers.unshift(() => wire.close());
  control.offer(controlRoutes(parts));
  const wirePort = await listenOnFirstFree(wire.server, LOOPBACK, typeof port === 'number' ? [port] : port);
  return { baseUrl: `http://${LOOPBACK}:${wirePort}`, controlUrl, controlSecret, apiKey };
}

/** Only the owner may enter the directory, because it contains the API key and the proxies' secret. */
async function openLock(directory: string): Promise<DirectoryLock> {
  await mkdir(dirname(directory), { recursive: true });
  await mkdir(directory, { recursive: true, mode: 0o700 });
  return new DirectoryLock(directory);
}

function ensureAccount(store: EventStore): Account {
  const existing = store.state.account;
  if (existing) return existing;
  const account: Account = {
    apiKey: Array.from({ length: 3 }, () => randomBytes(5).toString('hex')).join('-'),
    secret: randomBytes(32).toString('hex'),
    userId: '148230',
  };
  store.record({ kind: 'account', ...account });
  return account;
}
