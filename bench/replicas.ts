import 'reflect-metadata';
import { parseArgs } from 'node:util';
import { replicasMarkdown } from './reports/replicas-report';
import { progress, readPositive, reportProblems, RESULTS, run, writeResult } from './support/command';
import { placeOrder, purchase } from './workloads/requests';
import { measureInRounds, type WorkloadResult } from './workloads/rounds';
import { ComparisonSetup } from './workloads/setup';
import { httpSubject, type Server } from './workloads/subjects';
import { repeatForConnections, type WorkloadContext } from './workloads/workloads';

/**
 * `npm run bench:replicas`: measures purchases of one proxy with one, two and three replicas on one database,
 * without a limit on the provider's rate. Takes 5 minutes; `-- --seconds 2 --rounds 3` takes one.
 */

const SETTLE_TIMEOUT_MS = 10_000;

interface Options {
  readonly seconds: number;
  readonly rounds: number;
  readonly replicas: number;
  readonly results: string;
}

function readOptions(): Options {
  const { values } = parseArgs({
    options: {
      seconds: { type: 'string', default: '5' },
      rounds: { type: 'string', default: '7' },
      replicas: { type: 'string', default: '3' },
      results: { type: 'string', default: RESULTS },
    },
  });
  return {
    seconds: readPositive('seconds', values.seconds),
    rounds: readPositive('rounds', values.rounds, { whole: true }),
    replicas: readPositive('replicas', values.replicas, { whole: true }),
    results: values.results,
  };
}

async function measure(
  { customerPool, instruments }: WorkloadContext,
  servers: readonly Server[],
  options: Options,
): Promise<WorkloadResult[]> {
  const buyers = {
    'many users': await customerPool.buyers(),
    'one busy user': [await customerPool.busyBuyer()],
  };
  const results: WorkloadResult[] = [];
  for (const [name, customers] of Object.entries(buyers)) {
    progress(name);
    const requests = customers.map(({ token }) => purchase(token, 1));
    // Each replica fetches what it checks orders against.
    for (const { baseUrl } of servers) await placeOrder(baseUrl, requests[0]!);
    const subjects = servers.map((_, at) =>
      httpSubject(
        at === 0 ? '1 replica' : `${at + 1} replicas`,
        servers.slice(0, at + 1),
        repeatForConnections(requests, instruments),
        instruments,
        { atRates: false },
      ),
    );
    results.push(await measureInRounds({ name, title: `POST /proxies/buy, 1, ${name}` }, subjects, options));
  }
  return results;
}

async function main(): Promise<void> {
  const options = readOptions();
  const setup = await ComparisonSetup.open();
  try {
    const context = await setup.createContext({ withBaselines: false });
    const servers: Server[] = [context.service];
    while (servers.length < options.replicas) servers.push(await setup.startService());
    const workloads = await measure(context, servers, options);
    const problems = await setup.fixture.audit({ withProvider: false });
    const open = await setup.fixture.untilSettled(SETTLE_TIMEOUT_MS);
    if (open > 0) problems.push(`${open} orders were still open at the end`);
    const report = replicasMarkdown(await setup.describe(), options, workloads);
    await writeResult(options.results, 'replicas.md', report);
    process.stdout.write(`${report}\n`);
    reportProblems(problems);
  } finally {
    await setup.close();
  }
}

void run(main);
