import { type Call, type RunningSandbox, SandboxControl, startSandbox, WireClient } from '.';
import { PROFILES } from './profiles';
import { FaultPlan } from './wire/faults/fault-plan';

const CALLS = 50_000;

let sandbox: RunningSandbox;
let client: WireClient;
let control: SandboxControl;

async function start(options: Parameters<typeof startSandbox>[0]): Promise<void> {
  sandbox = await startSandbox(options);
  client = new WireClient(sandbox.baseUrl, sandbox.apiKey);
  control = new SandboxControl(sandbox);
}

async function statuses(calls: number): Promise<number[]> {
  const answers = await Promise.all(Array.from({ length: calls }, () => client.send('getcountry')));
  return answers.map(({ status }) => status).sort((a, b) => a - b);
}

function tookMs({ receivedAtMs, answeredAtMs }: Call): number {
  return (answeredAtMs ?? Number.NaN) - receivedAtMs;
}

test('realistic: one call in a hundred has a fault, the same calls in every run', () => {
  const takeFaults = (): (string | null)[] => {
    const plan = new FaultPlan(PROFILES.realistic.faults);
    return Array.from({ length: CALLS }, () => plan.take('getcount', {})?.kind ?? null);
  };
  const taken = takeFaults();

  const faults = taken.filter((kind) => kind !== null);
  expect(faults.length / CALLS).toBeGreaterThan(0.009);
  expect(faults.length / CALLS).toBeLessThan(0.011);
  expect(new Set(faults)).toEqual(new Set(PROFILES.realistic.faults.map(({ kind }) => kind)));
  expect(takeFaults()).toEqual(taken);
});

describe('over HTTP', () => {
  afterEach(() => sandbox.close());

  test('options override the profile', async () => {
    await start({ profile: 'realistic', rateLimitPerSecond: null, latencyMs: {} });
    await control.resetFaults();

    expect(await statuses(20)).toEqual(Array.from({ length: 20 }, () => 200));
    const calls = await control.getCalls();
    expect(Math.min(...calls.map(tookMs))).toBeLessThan(100);
  });

  test('another profile replaces latencies, rate and profile faults, but not added faults', async () => {
    await start({ rateLimitPerSecond: null });
    const added = await control.addFault({ method: 'check', kind: 'hang' });
    await control.setLatencies({ any: 1 });

    await control.setProfile('realistic');
    expect((await control.getFaults()).map(({ kind }) => kind)).toEqual([
      'hang',
      ...PROFILES.realistic.faults.map(({ kind }) => kind),
    ]);

    await control.setProfile('quick');
    expect((await control.getFaults()).map(({ id }) => id)).toEqual([added]);
    expect(await statuses(4)).toEqual([200, 200, 200, 429]);
    const calls = await control.getCalls('getcountry');
    expect(Math.min(...calls.map(tookMs))).toBeLessThan(100);
  });

  test('an added fault precedes the profile’s, and resetting removes both', async () => {
    await start({ profile: 'realistic', rateLimitPerSecond: null, latencyMs: {} });
    await control.addFault({ method: 'any', kind: 'error', errorId: 105, times: 30 });

    for (let call = 0; call < 30; call += 1) {
      await expect(client.ask('getcountry')).resolves.toMatchObject({ error_id: 105 });
    }
    await control.resetFaults();
    await expect(control.getFaults()).resolves.toEqual([]);
  });

  test('an unknown profile is refused', async () => {
    await start({});

    const answer = await fetch(`${sandbox.controlUrl}/profile`, {
      method: 'POST',
      headers: { authorization: `Bearer ${sandbox.controlSecret}` },
      body: '{"name":"slow"}',
    });

    expect(answer.status).toBe(400);
    expect(await answer.json()).toEqual({ error: expect.stringContaining('"quick"|"realistic"') });
  });
});
