import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createApplication } from '../../src/application';
import { AppConfig } from '../../src/config';
import type { TestService } from './test-service';

export interface Replica {
  readonly baseUrl: string;
  close(): Promise<void>;
}

/** A second application on the database and the upstream of the first, configured differently where told so. */
export async function startReplica(service: TestService, changes: Partial<AppConfig> = {}): Promise<Replica> {
  const app = await createApplication({ ...service.app.get(AppConfig), ...changes }, service.clock);
  await app.listen(0, '127.0.0.1');
  const { port } = (app.getHttpServer() as Server).address() as AddressInfo;
  return { baseUrl: `http://127.0.0.1:${port}`, close: () => app.close() };
}
