import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { Client } from 'pg';
import { createApplication } from '../../src/application';
import { readEnvironment, resolveConfig } from '../../src/config';
import type { FixtureEnvironment } from '../support/fixture';
import type { SentStatement } from '../support/statement-plans';

/** Long enough for what the service does by itself to come by once. */
const IDLE_MS = 3000;
/** What is sent after the answer belongs to the request as well. */
const AFTERMATH_MS = 300;

/** An application in this process, of which every statement that it sends is seen, however it sends it. */
export interface RecordingService {
  readonly baseUrl: string;
  /** What the work makes the service send, in order; without what it sends while nobody asks for anything. */
  readonly record: <Result>(
    work: () => Promise<Result>,
  ) => Promise<{ result: Result; statements: SentStatement[] }>;
}

type QueryCall = readonly [statement?: string | { text?: string; values?: unknown[] }, values?: unknown[]];

/**
 * Starts one for a piece of work, and ends it: what it does by itself would be in the way of what is measured.
 *
 * @param environment of a service
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
