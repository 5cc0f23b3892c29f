import { randomUUID } from 'node:crypto';
import { pipeline } from 'node:stream/promises';
import type { Abstract, INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { AdministrationModule } from '../administration.module';
import { runInRequest } from '../common';
import { type AppConfig, readEnvironment } from '../config';
import { migrate } from '../database';
import { acquireResources } from '../local';

export async function print(response: unknown): Promise<void> {
  if (isText(response)) await pipeline(response, process.stdout, { end: false });
  else process.stdout.write(`${JSON.stringify(response, null, 2)}\n`);
}

const isText = (response: unknown): response is AsyncIterable<string> =>
  typeof response === 'object' && response !== null && Symbol.asyncIterator in response;

/** Discards notes, because commands must write only refusals to standard error. */
const ignoreNotes = (): void => undefined;

/** @throws Error if the type needs payments, but PAYMENTS is off */
export function getFromPayments<Instance>(app: INestApplicationContext, type: Abstract<Instance>): Instance {
  try {
    return app.get(type, { strict: false });
  } catch {
    throw new Error('The service does not accept payments: PAYMENTS is off');
  }
}

const NO_PROVIDER = { provider: false };

export async function withResources(
  work: (config: AppConfig) => Promise<void>,
  needs = NO_PROVIDER,
): Promise<void> {
  const environment = readEnvironment(undefined, needs);
  const resources = await acquireResources(environment, { ...needs, sharesSandbox: true }, ignoreNotes);
  try {
    await work(resources.config);
  } finally {
    await resources.release();
  }
}

/** Calls a use case in this process, whether or not the service is running. */
export const withServices = (
  useCase: (app: INestApplicationContext) => Promise<void>,
  needs = NO_PROVIDER,
): Promise<void> =>
  withResources(async (config) => {
    if (config.database.migrateOnStart) await migrate(config.database);
    const app = await NestFactory.createApplicationContext(AdministrationModule.with(config), {
      logger: false,
      abortOnError: false,
    });
    try {
      await runInRequest({ requestId: randomUUID() }, () => useCase(app));
    } finally {
      await app.close();
    }
  }, needs);
