import 'reflect-metadata';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startServer } from '../drills/support/service';
import { addToOrdinaryShop, createOrdinaryShop } from './ordinary-shop';
import { print, progress, readCount, readNames, run } from './support/command';
import { type BenchRequest, CELLS, cellsOf, measureInRounds, methodOf, ratio } from './support/load';
import { createCustomers, Place } from './support/place';
import { WORKLOAD_NAMES, WORKLOADS } from './support/workloads';

// `npm run bench` measures the service and bare node in turns, in seven minutes; `-- --seconds 1 --rounds 3
// --only me,buy-1` takes less. A wrong response or broken books fail the run.

const CONNECTIONS = 32;
const BARE_NODE = join(__dirname, 'bare-node.js');

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      seconds: { type: 'string', default: '3' },
      rounds: { type: 'string', default: '5' },
      only: { type: 'string' },
    },
  });
  const [seconds, rounds] = [readCount('seconds', values.seconds), readCount('rounds', values.rounds)];
  const names = readNames(values.only, WORKLOAD_NAMES);
  const place = await Place.open();
  try {
    const database = await place.openDatabase('bench_service');
    await createOrdinaryShop(database.ownerUrl);
    const service = await place.startService(database);
    const bare = await startServer(BARE_NODE, place.environmentOf(database));
    const options = { connections: CONNECTIONS, rounds, seconds, postmasterPid: place.postmasterPid };
    const rows: string[][] = [];
    try {
      for (const name of names) {
        const { title, customers, proxies, request } = WORKLOADS[name];
        progress(title);
        const callers = await createCustomers(database, customers, proxies);
        await addToOrdinaryShop(database.ownerUrl, callers);
        const requests = callers.map(({ token }) => request(token));
        if (!name.startsWith('buy')) await assertSameResponse(service.baseUrl, bare.baseUrl, requests[0]);
        const subjects = [
          { ...service, name: 'the service', requests },
          { ...bare, name: 'bare node', requests },
        ];
        const [ours = [], theirs = []] = await measureInRounds(subjects, options);
        rows.push([title, 'service', ratio(ours, theirs), ...cellsOf(ours)]);
        rows.push(['', 'bare node', '', ...cellsOf(theirs)]);
      }
    } finally {
      await bare.stop();
    }
    await place.audit(database);
    await print({ method: methodOf(options), head: ['', '', 'service ÷ bare node', ...CELLS], rows });
  } finally {
    await place.close();
  }
}

async function assertSameResponse(
  service: string,
  bare: string,
  { path = '', headers = {} }: BenchRequest = {},
): Promise<void> {
  const read = async (baseUrl: string): Promise<string> => {
    const response = await fetch(baseUrl + path, { headers: headers as Record<string, string> });
    return `${response.status} ${await response.text()}`;
  };
  const [one, other] = [await read(service), await read(bare)];
  if (one !== other) {
    throw new Error(`${path}: the service responds ${one.slice(0, 200)}, bare node ${other.slice(0, 200)}`);
  }
}

void run(main);
