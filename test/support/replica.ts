import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { AppConfig } from '../../src/config';
import { changeJobIntervals, type TestService } from './test-service';

type SettingChanges = { readonly [Group in keyof AppConfig]?: Partial<AppConfig[Group]> };
type Application = typeof import('../../src/application');
type Common = typeof import('../../src/common');

/** Packages that take long to load and keep no state that differs between processes. */
const SHARED_PACKAGES = [
  '@nestjs/common',
  '@nestjs/core',
  '@nestjs/swagger',
  'class-validator',
  'pg',
  'rxjs',
  'typeorm',
  'zod',
];

export interface Replica {
  readonly baseUrl: string;
  close(): Promise<void>;
}

/**
 * A second application on the database and the provider of the first, with other settings where given. Its
 * modules are loaded anew, as in a second process: some keep state, such as `REPLICA_ID`.
 */
export async function startReplica(service: TestService, changes: SettingChanges = {}): Promise<Replica> {
  const config = Object.fromEntries(
    Object.entries(service.app.get(AppConfig)).map(([group, settings]) => [
      group,
      Object.assign({}, settings, Reflect.get(changes, group)),
    ]),
  ) as unknown as AppConfig;
  const { createApplication, Jobs } = loadAnew();
  const app = await createApplication(config, service.clock);
  changeJobIntervals(app.get(Jobs), service.jobIntervalsMs);
  await app.listen(0, '127.0.0.1');
  const server: Server = app.getHttpServer();
  const { port } = server.address() as AddressInfo;
  return { baseUrl: `http://127.0.0.1:${port}`, close: () => app.close() };
}

function loadAnew(): Application & Common {
  let loaded: (Application & Common) | undefined;
  const shared = new Map(SHARED_PACKAGES.map((name) => [name, jest.requireActual<object>(name)]));
  jest.isolateModules(() => {
    for (const [name, exported] of shared) jest.doMock(name, () => exported);
    loaded = {
      ...jest.requireActual<Application>('../../src/application'),
      ...jest.requireActual<Common>('../../src/common'),
    };
  });
  for (const name of SHARED_PACKAGES) jest.dontMock(name);
  if (!loaded) throw new Error('the application was not loaded');
  return loaded;
}
