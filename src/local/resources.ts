import { join } from 'node:path';
import type { AppConfig, Environment } from '../config';
import { acquireLocalSandbox } from './local-sandbox';
import { acquireEmbeddedPostgres } from './postgres/embedded-postgres';

export interface Resources {
  readonly config: AppConfig;
  /** Ends what was started for this process, unless another one uses it. */
  release(): Promise<void>;
}

interface Acquired<Value> {
  readonly value: Value;
  release(): Promise<void>;
}

const nothingToRelease = async (): Promise<void> => undefined;

/**
 * Finds or starts the database and, when asked for, the provider that the environment names.
 *
 * @param onNote told, in a line, what a person who started the process should know
 */
export async function acquireResources(
  environment: Environment,
  needs: { upstream: boolean },
  onNote: (line: string) => void,
): Promise<Resources> {
  const database = await acquireDatabase(environment, onNote);
  try {
    const upstream = needs.upstream
      ? await acquireProvider(environment, onNote)
      : { value: { baseUrl: '', apiKey: '' }, release: nothingToRelease };
    return {
      config: Object.freeze({ ...environment, databaseUrl: database.value, upstream: upstream.value }),
      release: async () => {
        await upstream.release();
        await database.release();
      },
    };
  } catch (error) {
    await database.release();
    throw error;
  }
}

async function acquireDatabase(
  environment: Environment,
  onNote: (line: string) => void,
): Promise<Acquired<string>> {
  if (environment.databaseUrl !== undefined) {
    return { value: environment.databaseUrl, release: nothingToRelease };
  }
  const postgres = await acquireEmbeddedPostgres({ dataDir: environment.dataDir, onNote });
  return { value: postgres.url, release: () => postgres.release() };
}

async function acquireProvider(
  { provider, dataDir, sandboxProfile }: Environment,
  onNote: (line: string) => void,
): Promise<Acquired<AppConfig['upstream']>> {
  if (provider.kind === 'px6') return { value: provider, release: nothingToRelease };
  const sandbox = await acquireLocalSandbox({
    directory: join(dataDir, 'sandbox'),
    profile: sandboxProfile,
    onNote,
  });
  return { value: sandbox, release: () => sandbox.release() };
}
