import type { Server } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { AppConfig } from '../../src/config';
import { shared } from '../jest/shared';
import { startApplication, type TestService } from './test-service';

type SettingChanges = { readonly [Group in keyof AppConfig]?: Partial<AppConfig[Group]> };
type Application = typeof import('../../src/application');
type JobsModule = typeof import('../../src/jobs');

export interface Replica {
  readonly baseUrl: string;
  close(): Promise<void>;
}

/** A second application on the same database, with its own modules and their state, such as `REPLICA_ID`. */
export async function startReplica(service: TestService, changes: SettingChanges = {}): Promise<Replica> {
  const config = Object.fromEntries(
    Object.entries(service.app.get<unknown, AppConfig>(AppConfig)).map(([group, settings]) => [
      group,
      Object.assign({}, settings, Reflect.get(changes, group)),
    ]),
  ) as unknown as AppConfig;
  const copy = copies.pop() ?? loadCopy();
  const { createApplication, Jobs } = copy;
  const app = await createApplication(config, service.clock);
  await startApplication(app, app.get(Jobs), service.jobIntervalsMs);
  const server: Server = app.getHttpServer();
  const { port } = server.address() as AddressInfo;
  return {
    baseUrl: `http://127.0.0.1:${port}`,
    async close() {
      await app.close();
      copies.push(copy);
    },
  };
}

export async function withReplica(
  service: TestService,
  changes: SettingChanges,
  work: (replica: Replica) => Promise<unknown>,
): Promise<void> {
  const replica = await startReplica(service, changes);
  try {
    await work(replica);
  } finally {
    await replica.close();
  }
}

/** Node's own cache of the application and its packages, without tests. */
const load = createRequire(__filename);
const APPLICATION = join(__dirname, '..', '..', 'src');

/** Idle copies of the application. */
const copies = shared.copies as (Application & JobsModule)[];

function loadCopy(): Application & JobsModule {
  const modules = Object.entries(load.cache).filter(([path]) => path.startsWith(APPLICATION));
  for (const [path] of modules) delete load.cache[path];
  try {
    return { ...(load('../../src/application') as Application), ...(load('../../src/jobs') as JobsModule) };
  } finally {
    Object.assign(load.cache, Object.fromEntries(modules));
  }
}
