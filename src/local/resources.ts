import { join } from 'node:path';
import {
  type AppConfig,
  type Environment,
  type PaymentsAddress,
  type ProviderAddress,
  resolveConfig,
} from '../config';
import type { DatabaseAddress } from '../database';
import { findLocalSandbox, startLocalSandbox } from './local-sandbox';
import { acquireEmbeddedPostgres } from './postgres/embedded-postgres';

export interface Resources {
  readonly config: AppConfig;
  /** Rejects if the embedded database is lost. Never resolves. */
  readonly lost: Promise<never>;
  /** Stops what this process started, except a database that other processes use. */
  release(): Promise<void>;
}

/** Only the sandbox has `payments`. */
type Provider = ProviderAddress & { readonly payments?: PaymentsAddress };

interface Acquired<Value> {
  readonly value: Value;
  release(): Promise<void>;
}

const LISTENS_ON_LOOPBACK: ReadonlySet<string> = new Set(['127.0.0.1', 'localhost', '0.0.0.0']);

const nothingToRelease = async (): Promise<void> => undefined;

export interface ResourceNeeds {
  readonly provider: boolean;
  /** Whether to use a running service's sandbox if there is one, because commands are short-lived. */
  readonly sharesSandbox?: boolean;
}

export async function acquireResources(
  environment: Environment,
  needs: ResourceNeeds,
  onNote: (line: string) => void,
): Promise<Resources> {
  const database = await acquireDatabase(environment, onNote);
  try {
    const provider = needs.provider
      ? await acquireProvider(environment, needs, onNote)
      : { value: { baseUrl: '', apiKey: '' } as Provider, release: nothingToRelease };
    return {
      config: resolveConfig(
        {
          ...environment,
          database: { ...environment.database, ...database.value },
          proxyChecks: { ...environment.proxyChecks, echoUrl: echoUrlOf(environment) },
          payments: { ...environment.payments, ...shopOf(environment, provider.value) },
        },
        database.value.url,
        provider.value,
      ),
      lost: database.lost,
      release: async () => {
        await provider.release();
        await database.release();
      },
    };
  } catch (error) {
    await database.release();
    throw error;
  }
}

/** If there is no sandbox, the shop's address is empty. */
function shopOf({ payments, server: { port } }: Environment, { payments: shop }: Provider) {
  if (payments.provider !== 'sandbox' || payments.shopId !== undefined) return {};
  return { baseUrl: '', ...shop, returnUrl: payments.returnUrl ?? `http://127.0.0.1:${port}/docs` };
}

/** Sandbox proxies are checked through this process's endpoint: they can reach only this machine. */
function echoUrlOf({ provider, server, proxyChecks }: Environment): string | undefined {
  const isOwn = provider.apiKey === undefined && server.port !== 0 && LISTENS_ON_LOOPBACK.has(server.host);
  return proxyChecks.echoUrl ?? (isOwn ? `http://127.0.0.1:${server.port}/echo` : undefined);
}

async function acquireDatabase(
  { database, local }: Environment,
  onNote: (line: string) => void,
): Promise<Acquired<DatabaseAddress> & { readonly lost: Promise<never> }> {
  const { url, ownerUrl } = database;
  if (url !== undefined) {
    return { value: { url, ownerUrl }, lost: new Promise(() => undefined), release: nothingToRelease };
  }
  const postgres = await acquireEmbeddedPostgres({ dataDir: local.dataDir, onNote });
  return {
    value: { url: postgres.url, ownerUrl: postgres.ownerUrl },
    lost: postgres.lost,
    release: () => postgres.release(),
  };
}

async function acquireProvider(
  { provider: { baseUrl, apiKey }, local, server, metrics }: Environment,
  { sharesSandbox = false }: ResourceNeeds,
  onNote: (line: string) => void,
): Promise<Acquired<Provider>> {
  if (apiKey !== undefined) return { value: { baseUrl, apiKey }, release: nothingToRelease };
  const directory = join(local.dataDir, 'sandbox');
  const running = sharesSandbox ? await findLocalSandbox(directory) : null;
  if (running !== null) return { value: running, release: nothingToRelease };
  const exceptPorts = [server.port, ...(metrics.port === undefined ? [] : [metrics.port])];
  const sandbox = await startLocalSandbox({ directory, exceptPorts, onNote });
  return { value: sandbox, release: () => sandbox.release() };
}
