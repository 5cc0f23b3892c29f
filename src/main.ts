import 'reflect-metadata';
import type { AddressInfo } from 'node:net';
import { createApplication } from './application';
import { readEnvironment } from './config';
import { migrate } from './database';
import { provideDemo, tour } from './demo';
import { acquireResources } from './resources';

const tell = (line: string): void => void process.stdout.write(`${line}\n`);

/** Resolves with the first wish to stop; a second one ends the process at once. */
function stopWish(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.once(signal, () => {
        resolve();
        process.once(signal, () => process.exit(130));
      });
    }
  });
}

async function main(): Promise<void> {
  const stopping = stopWish();
  const environment = readEnvironment();
  const resources = await acquireResources(environment, { upstream: true }, tell);
  try {
    if (environment.migrateOnStart) await migrate(resources.config.databaseUrl);
    const app = await createApplication(resources.config);
    try {
      await app.listen(environment.port, environment.host);
      const { address, port, family } = app.getHttpServer().address() as AddressInfo;
      const baseUrl = `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
      if (environment.databaseUrl === undefined) {
        tell(tour(baseUrl, await provideDemo(app, environment.dataDir)));
      } else {
        tell(`Listening on ${baseUrl}`);
      }
      await stopping;
    } finally {
      await app.close();
    }
  } finally {
    await resources.release();
  }
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : 'failed'}\n`);
  process.exitCode = 1;
});
