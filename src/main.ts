import 'reflect-metadata';
import { setTimeout as pause } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { createApplication, drain } from './application';
import { failureLine, listen } from './common';
import { type Environment, EnvironmentError, readEnvironment, TUNING_VARIABLE } from './config';
import { migrate, untilMigrated } from './database';
import { Jobs } from './jobs';
import { acquireResources, provideDemo, subscribeToSandbox, demoInstructions } from './local';

const print = (line: string): void => void process.stdout.write(`${line}\n`);

/** npm forwards Ctrl-C as well, so a second signal within this time belongs to the same Ctrl-C. */
const SAME_REQUEST_MS = 1000;

/** Resolves on the first SIGINT or SIGTERM. A later one ends the process immediately. */
function stopRequest(): Promise<void> {
  return new Promise((resolve) => {
    let firstAtMs: number | undefined;
    const stop = (): void => {
      firstAtMs ??= performance.now();
      if (performance.now() - firstAtMs > SAME_REQUEST_MS) process.exit(130);
      resolve();
    };
    process.on('SIGINT', stop);
    process.on('SIGTERM', stop);
    process.on('SIGHUP', resolve);
    // Writing to a closed terminal must not end the process before the database has shut down.
    for (const output of [process.stdout, process.stderr]) output.on('error', () => undefined);
  });
}

async function start(app: NestExpressApplication, { host, port }: Environment['server']): Promise<string> {
  await app.init();
  await app.get(Jobs).start();
  const other = port < 65_535 ? port + 1 : port - 1;
  // Nest's own `listen()` would log the error a second time.
  return listen(app.getHttpServer(), host, port, `choose another with PORT=${other}.`);
}

async function main(): Promise<void> {
  const stopping = stopRequest();
  const ended = new AbortController();
  void stopping.then(() => ended.abort());
  const environment = readEnvironment();
  const resources = await acquireResources(environment, { provider: true }, print);
  try {
    const { database } = resources.config;
    if (database.migrateOnStart) await migrate(database);
    else if (!(await untilMigrated(database, print, ended.signal))) return;
    const app = await createApplication(resources.config);
    if (Object.keys(environment.tuning).length > 0) {
      new Logger('Environment').warn(`${TUNING_VARIABLE} overrides constants, which is meant only for tests`);
    }
    try {
      const baseUrl = await start(app, environment.server);
      await subscribeToSandbox(resources.config, baseUrl);
      if (environment.database.url === undefined) {
        print(demoInstructions(baseUrl, await provideDemo(app, environment.local.dataDir)));
      } else {
        print(`Listening on ${baseUrl}`);
      }
      // Throws if the database connection is lost. The process exits with code 1; a supervisor restarts it.
      await Promise.race([stopping, resources.lost]);
      drain(app);
      // Load balancers keep sending requests until they notice that the replica is not ready.
      await pause(environment.server.drainSeconds * 1000);
    } finally {
      await app.close();
    }
  } finally {
    await resources.release();
  }
}

main().catch((error: unknown) => {
  const complaint =
    error instanceof EnvironmentError
      ? ['The environment is invalid:', ...error.problems].join('\n  ')
      : failureLine(error);
  process.stderr.write(`${complaint}\n`);
  process.exitCode = 1;
});
