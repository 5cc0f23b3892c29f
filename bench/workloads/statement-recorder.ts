import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { Client } from 'pg';
import { createApplication } from '../../src/application';
import { readEnvironment, resolveConfig } from '../../src/config';
import type { FixtureEnvironment } from '../support/fixture';
import type { SentStatement } from '../support/statement-plans';

/** Long enough that every periodic statement of the idle service occurs once. */
const IDLE_MS = 3000;
/** Statements sent after the response also belong to the request. */
const AFTERMATH_MS = 300;

/** A service in this process, all of whose SQL statements can be recorded. */
export interface RecordingService {
  readonly baseUrl: string;
  /**
   * Gives the statements that the work causes, in order, without those that the idle service sends anyway.
   */
  readonly record: <Result>(
    work: () => Promise<Result>,
  ) => Promise<{ result: Result; statements: SentStatement[] }>;
}

type QueryCall = readonly [statement?: string | { text?: string; values?: unknown[] }, values?: unknown[]];

/**
 * Starts a recording service for the duration of the work. It is stopped before anything is measured.
 *
 * @param environment environment variables of the service
 */
export async function withStatementRecorder<Result>(
  environment: FixtureEnvironment,
  work: (service: RecordingService) => Promise<Result>,
): Promise<Result> {
  const sent: SentStatement[] = [];
  const original = Reflect.get(Client.prototype, 'query') as (...parameters: unknown[]) => unknown;
  Reflect.set(Client.prototype, 'query', function query(this: Client, ...parameters: unknown[]): unknown {
    const [statement, values] = parameters as unknown as QueryCall;
    const text = typeof statement === 'string' ? statement : statement?.text;
    const given = typeof statement === 'string' ? values : (statement?.values ?? values);
    if (text !== undefined) sent.push({ text, parameters: Array.isArray(given) ? [...given] : [] });
    return Reflect.apply(original, this, parameters);
  });
  try {
    const config = resolveConfig(readEnvironment(environment), environment.DATABASE_URL, {
      apiKey: environment.PX6_API_KEY,
      baseUrl: environment.PX6_BASE_URL,
    });
    const app = await createApplication(config);
    try {
      await app.listen(0, '127.0.0.1');
      await pause(IDLE_MS);
      const background = new Set(sent.map(({ text }) => text));
      return await work({
        baseUrl: `http://127.0.0.1:${(app.getHttpServer().address() as AddressInfo).port}`,
        record: async (recorded) => {
          sent.length = 0;
          const result = await recorded();
          await pause(AFTERMATH_MS);
          return { result, statements: sent.filter(({ text }) => !background.has(text)) };
        },
      });
    } finally {
      await app.close();
    }
  } finally {
    Reflect.set(Client.prototype, 'query', original);
  }
}
