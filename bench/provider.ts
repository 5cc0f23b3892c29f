import 'reflect-metadata';
import { CALLS_PER_SECOND, ProviderScenarios, type ScenarioOptions } from './provider/scenarios';
import { parseOptions, RESULTS, run, writeResult } from './support/command';
import { Fixture } from './support/fixture';

/**
 * `npm run bench:provider`: measures many users behind a slow provider with a rate limit. Takes 15 minutes.
 */

function readOptions(): ScenarioOptions {
  const values = parseOptions({
    users: { type: 'string', default: '200' },
    seconds: { type: 'string', default: '60' },
    replicas: { type: 'string', default: '3' },
    'latency-ms': { type: 'string', default: '5000' },
    'warmup-seconds': { type: 'string', default: '30' },
  });
  const whole = (name: keyof typeof values, min = 1): number => {
    const number = Number(values[name]);
    if (!Number.isInteger(number) || number < min) {
      throw new Error(`--${name} must be a whole number from ${min}`);
    }
    return number;
  };
  return {
    users: whole('users'),
    seconds: whole('seconds'),
    replicas: whole('replicas'),
    latencyMs: whole('latency-ms', 0),
    warmupSeconds: whole('warmup-seconds', 0),
  };
}

/** Rejects when the run is interrupted, so that the fixture is closed. */
function interruption(): Promise<never> {
  const interrupted = new Promise<never>((_, reject) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.once(signal, () => reject(new Error('Interrupted')));
    }
  });
  // The signal may arrive before the promise is awaited.
  interrupted.catch(() => undefined);
  return interrupted;
}

async function main(): Promise<void> {
  const options = readOptions();
  const interrupted = interruption();
  const fixture = await Fixture.open(CALLS_PER_SECOND);
  try {
    const scenarios = new ProviderScenarios(fixture, options);
    const report = await Promise.race([scenarios.run(), interrupted]);
    process.stdout.write(report);
    await writeResult(RESULTS, 'provider.md', report);
    process.exitCode = scenarios.problems.length === 0 ? 0 : 1;
  } finally {
    await fixture.close();
  }
}

// An interrupted scenario would continue against processes that are gone.
void run(main).finally(() => process.exit());
