import 'reflect-metadata';
import { mkdir } from 'node:fs/promises';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { progress, readCount, readNames, run } from './support/command';
import { measure } from './support/load';
import { createCustomers, Place } from './support/place';
import { WORKLOAD_NAMES, WORKLOADS } from './support/workloads';

// `npm run bench:profile -- --only me` writes CPU profiles of the service under load, one directory for each
// kind. The performance panel of Chrome's developer tools opens them.

const CONNECTIONS = 32;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      only: { type: 'string' },
      seconds: { type: 'string', default: '10' },
      directory: { type: 'string', default: 'profiles' },
    },
  });
  const seconds = readCount('seconds', values.seconds);
  const place = await Place.open();
  try {
    const database = await place.openDatabase('bench_service');
    for (const name of readNames(values.only, WORKLOAD_NAMES)) {
      const directory = resolve(values.directory, name);
      await mkdir(directory, { recursive: true });
      const service = await place.startService(database, ['--cpu-prof', `--cpu-prof-dir=${directory}`]);
      const { customers, proxies, request } = WORKLOADS[name];
      const callers = await createCustomers(database, customers, proxies);
      const requests = callers.map(({ token }) => request(token));
      await measure(
        { ...service, requests },
        { connections: CONNECTIONS, seconds, postmasterPid: place.postmasterPid },
      );
      // Node.js writes the profile when the process ends.
      await service.stop();
      progress(`${name}: ${directory}`);
    }
  } finally {
    await place.close();
  }
}

void run(main);
