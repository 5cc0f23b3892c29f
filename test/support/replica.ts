import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { AppConfig } from '../../src/config';
import type { TestService } from './test-service';

type SettingChanges = { readonly [Group in keyof AppConfig]?: Partial<AppConfig[Group]> };
type Application = typeof import('../../src/application');

export interface Replica {
  readonly baseUrl: string;
  close(): Promise<void>;
}

/**
 * A second application on the database and the provider of the first, configured differently where told so. It has modules of its
 * own, as a second process would: passport keeps its strategies in a variable of its module.
 */
export async function startReplica(service: TestService, changes: SettingChanges = {}): Promise<Replica> {
  const config = Object.fromEntries(
    Object.entries(service.app.get(AppConfig)).map(([group, settings]) => [
      group,
      Object.assign({}, settings, Reflect.get(changes, group)),
    ]),
  ) as unknown as AppConfig;
  const { createApplication } = loadAnew();
  const app = await createApplication(config, service.clock);
  await app.listen(0, '127.0.0.1');
  const server: Server = app.getHttpServer();
  const { port } = server.address() as AddressInfo;
  return { baseUrl: `http://127.0.0.1:${port}`, close: () => app.close() };
}

function loadAnew(): Application {
  let application: Application | undefined;
  jest.isolateModules(() => {
    application = jest.requireActual<Application>('../../src/application');
  });
  if (!application) throw new Error('the application was not loaded');
  return application;
}
