import { AppConfig } from '../../src/config';
import { runCliHere } from './cli';
import { type Replica, startReplica } from './replica';
import { connectAsOwner, copyTestDatabase } from './test-database';
import type { TestService } from './test-service';

export interface Restored {
  command<Result = unknown>(words: readonly string[]): Promise<Result>;
  refused(words: readonly string[]): Promise<string>;
  query<Row>(statement: string, parameters?: readonly unknown[]): Promise<Row[]>;
  /** Sweeps and compares payments each second. */
  start(): Promise<Replica>;
  close(): Promise<void>;
}

export async function restorePoint(service: TestService): Promise<Restored> {
  const database = await copyTestDatabase({ url: service.databaseUrl });
  const owner = await connectAsOwner(database);
  const replicas: Replica[] = [];
  const run = (words: readonly string[]) =>
    runCliHere(words, {
      DATABASE_URL: database.url,
      MIGRATE_ON_START: 'false',
      PX6_API_KEY: service.sandbox.apiKey,
      PX6_BASE_URL: service.sandbox.baseUrl,
      SETTLEMENT_DELAY_SECONDS: String(
        service.app.get<unknown, AppConfig>(AppConfig).reconciliation.settlementDelaySeconds,
      ),
    });
  return {
    async command<Result>(words: readonly string[]) {
      const { code, stdout, stderr } = await run(words);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      const response: Result = JSON.parse(stdout);
      return response;
    },
    async refused(words) {
      const { code, stderr } = await run(words);
      expect(code).toBe(1);
      return stderr.trimEnd();
    },
    query: (statement, parameters) => owner.query(statement, [...(parameters ?? [])]),
    async start() {
      const replica = await startReplica(service, {
        database: { url: database.url },
        sweep: { intervalSeconds: 1 },
        payments: { compareSeconds: 1 },
      });
      replicas.push(replica);
      return replica;
    },
    async close() {
      await Promise.all(replicas.map((replica) => replica.close()));
      await owner.destroy();
      await database.drop();
    },
  };
}
