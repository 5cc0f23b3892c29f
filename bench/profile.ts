import 'reflect-metadata';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type CpuProfile, fold, type Frame, selfTimes } from './profiling/cpu-profile';
import { flameGraph } from './profiling/flame-graph';
import { markdownTable } from './support/markdown';
import { PROJECT } from './support/processes';
import { ComparisonSetup } from './workloads/setup';
import { isWorkloadName, type WorkloadContext, type WorkloadName, WORKLOADS } from './workloads/workloads';

/**
 * Where the time of each path goes: `node dist/bench/profile.js [--only me,buy-1] [--seconds 10]`. Writes a flame graph of each to
 * bench/results/profile-<path>.svg, and the functions and packages that take most to standard output.
 */

const SHOWN_FUNCTIONS = 25;
const SHOWN_PACKAGES = 12;
const MICROSECONDS = 1000n;

const progress = (line: string): void => void process.stderr.write(`${line}\n`);
const monotonicUs = (): number => Number(process.hrtime.bigint() / MICROSECONDS);

/** A service of its own for each path, under load for so long, and asked to end: then it writes its profile. */
async function profileWorkload(
  setup: ComparisonSetup,
  context: WorkloadContext,
  path: WorkloadName,
  seconds: number,
): Promise<Frame> {
  const directory = await mkdtemp(join(tmpdir(), 'proxy-rental-profile-'));
  try {
    const service = await setup.startService(setup.fixture, ['--cpu-prof', `--cpu-prof-dir=${directory}`]);
    let [fromUs, untilUs] = [0, 0];
    try {
      const plan = await WORKLOADS[path]({ ...context, service });
      const [subject] = plan.subjects;
      await subject?.measure(seconds / 2);
      fromUs = monotonicUs();
      await subject?.measure(seconds);
      untilUs = monotonicUs();
    } finally {
      await service.stop();
    }
    const [file] = (await readdir(directory)).filter((name) => name.endsWith('.cpuprofile'));
    if (file === undefined) throw new Error('the service left no profile');
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
  const { values } = parseArgs({
    options: {
      only: { type: 'string' },
      seconds: { type: 'string', default: '10' },
      results: { type: 'string', default: join(PROJECT, 'bench', 'results') },
    },
  });
  const seconds = Number(values.seconds);
  if (!(seconds > 0)) throw new Error('--seconds must be a number above 0');
  const names = values.only?.split(',') ?? Object.keys(WORKLOADS);
  const unknown = names.filter((name) => !isWorkloadName(name));
  if (unknown.length > 0) {
    throw new Error(`--only has no ${unknown.join(', ')}; there are ${Object.keys(WORKLOADS).join(', ')}`);
  }
  await mkdir(values.results, { recursive: true });
  const setup = await ComparisonSetup.open();
  try {
    const context = await setup.customerPool({ beside: false });
    for (const path of names.filter(isWorkloadName)) {
      progress(path);
      const root = await profileWorkload(setup, context, path, seconds);
      const file = join(values.results, `profile-${path}.svg`);
      await writeFile(file, flameGraph(root, `${path}: ${(root.totalUs / 1_000_000).toFixed(1)} s of work`));
      process.stdout.write(
        [
          `## ${path}`,
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

main().catch((error: unknown) => {
  progress(error instanceof Error ? (error.stack ?? error.message) : String(error));
  process.exitCode = 1;
});
