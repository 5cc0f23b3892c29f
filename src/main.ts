import 'reflect-metadata';
import type { AddressInfo } from 'node:net';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { createApplication } from './application';
import { failureLine } from './common';
import { EnvironmentError, readEnvironment } from './config';
import { migrate } from './database';
import { acquireResources, provideDemo, tour } from './local';

const tell = (line: string): void => void process.stdout.write(`${line}\n`);

/** npm passes a terminal's Ctrl-C on to the service, which the terminal told already: one wish, two signals. */
const SAME_WISH_MS = 1000;

/** Resolves with the first wish to stop; another one, later, ends the process at once. */
function stopWish(): Promise<void> {
  return new Promise((resolve) => {
    let firstAtMs: number | undefined;
    const wish = (): void => {
      firstAtMs ??= performance.now();
      if (performance.now() - firstAtMs > SAME_WISH_MS) process.exit(130);
      resolve();
    };
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, wish);
  });
}

/** Lets requests come to their end, but not for longer than an order can take: a download may have stalled. */
async function close(app: NestExpressApplication, graceMs: number): Promise<void> {
  const timer = setTimeout(() => app.getHttpServer().closeAllConnections(), graceMs);
  await app.close();
  clearTimeout(timer);
}

async function main(): Promise<void> {
  const stopping = stopWish();
  const environment = readEnvironment();
  const resources = await acquireResources(environment, { provider: true }, tell);
  try {
    if (environment.database.migrateOnStart) await migrate(resources.config.database.url);
    const app = await createApplication(resources.config);
    try {
      await app.listen(environment.server.port, environment.server.host);
      const { address, port, family } = app.getHttpServer().address() as AddressInfo;
      const baseUrl = `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
      if (environment.database.url === undefined) {
        tell(tour(baseUrl, await provideDemo(app, environment.local.dataDir)));
      } else {
        tell(`Listening on ${baseUrl}`);
      }
      await stopping;
    } finally {
      await close(app, 2 * environment.purchases.waitMs + environment.provider.timeoutMs);
    }
  } finally {
    await resources.release();
  }
}

main().catch((error: unknown) => {
  // Several mistakes of the environment are better read below one another.
  const complaint = error instanceof EnvironmentError ? error.message : failureLine(error);
  process.stderr.write(`${complaint}\n`);
  process.exitCode = 1;
});
