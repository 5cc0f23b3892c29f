import 'reflect-metadata';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type CpuProfile, fold, type Frame, selfTimes } from './profiling/cpu-profile';
import { flameGraph } from './profiling/flame-graph';
import {
  parseOptions,
  progress,
  readNames,
  readPositive,
  RESULTS,
  run,
  writeResult,
} from './support/command';
import { markdownTable } from './support/markdown';
import { ComparisonSetup } from './workloads/setup';
import { WORKLOAD_NAMES, type WorkloadContext, type WorkloadName, WORKLOADS } from './workloads/workloads';

/**
 * `npm run bench:profile -- [--only me,buy-1] [--seconds 10]`: profiles the service's CPU time for each
 * workload. Writes a flame graph to bench/results/profile-<workload>.svg, and the functions and packages
 * with the most self time to standard output.
 */

const SHOWN_FUNCTIONS = 25;
const SHOWN_PACKAGES = 12;
const MICROSECONDS = 1000n;

const monotonicUs = (): number => Number(process.hrtime.bigint() / MICROSECONDS);

/** Puts a fresh service under load and stops it: Node.js writes the profile when the process ends. */
async function profileWorkload(
  setup: ComparisonSetup,
  context: WorkloadContext,
  workload: WorkloadName,
  seconds: number,
): Promise<Frame> {
  const directory = await mkdtemp(join(tmpdir(), 'proxy-rental-profile-'));
  try {
    const service = await setup.startService(setup.fixture, ['--cpu-prof', `--cpu-prof-dir=${directory}`]);
    let [fromUs, untilUs] = [0, 0];
    try {
      const { subjects } = await WORKLOADS[workload]({ ...context, service });
      const [subject] = subjects;
      await subject?.measure(seconds / 2);
      fromUs = monotonicUs();
      await subject?.measure(seconds);
      untilUs = monotonicUs();
    } finally {
      await service.stop();
    }
    const [file] = (await readdir(directory)).filter((name) => name.endsWith('.cpuprofile'));
    if (file === undefined) throw new Error('The service wrote no profile');
    const profile: CpuProfile = JSON.parse(await readFile(join(directory, file), 'utf8'));
    return fold(profile, fromUs, untilUs);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

function selfTable(root: Frame, title: string, by: (frame: Frame) => string, most: number): string {
  return markdownTable(
    [title, 'self time'],
    selfTimes(root, by)
      .slice(0, most)
      .map(([name, us]) => [name, `${((100 * us) / root.totalUs).toFixed(1)} %`]),
  );
}

async function main(): Promise<void> {
  const values = parseOptions({
    only: { type: 'string' },
    seconds: { type: 'string', default: '10' },
    results: { type: 'string', default: RESULTS },
  });
  const seconds = readPositive('seconds', values.seconds);
  const workloads = readNames(values.only, WORKLOAD_NAMES);
  const setup = await ComparisonSetup.open();
  try {
    const context = await setup.createContext({ withBaselines: false });
    for (const workload of workloads) {
      progress(workload);
      const root = await profileWorkload(setup, context, workload, seconds);
      const title = `${workload}: ${(root.totalUs / 1_000_000).toFixed(1)} s of CPU time`;
      await writeResult(values.results, `profile-${workload}.svg`, flameGraph(root, title));
      process.stdout.write(
        [
          `## ${workload}`,
          '',
          selfTable(root, 'function', ({ name, where }) => `${name} (${where})`, SHOWN_FUNCTIONS),
          '',
          selfTable(root, 'package', ({ where }) => where, SHOWN_PACKAGES),
          '',
          '',
        ].join('\n'),
      );
    }
  } finally {
    await setup.close();
  }
}

void run(main);
