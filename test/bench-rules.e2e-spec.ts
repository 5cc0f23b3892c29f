import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { ResponseReader } from '../bench/generator/response-reader';
import { runLoad } from '../bench/generator/run-load';
import { type CpuProfile, fold, placeOf, selfTimes } from '../bench/profiling/cpu-profile';
import { flameGraph } from '../bench/profiling/flame-graph';
import { comparePlot } from '../bench/reports/compare-plot';
import { compareMarkdown } from '../bench/reports/compare-report';
import { growthMarkdown } from '../bench/reports/growth-report';
import { type SingleMetrics, verdicts } from '../bench/reports/targets';
import { readNodeOptions } from '../bench/support/processes';
import { percentile, ratioSpread, slope, spread } from '../bench/support/statistics';
import { assertEquivalentResponses } from '../bench/workloads/equivalence';
import { toPgbenchScript } from '../bench/workloads/pgbench-script';
import { alternatingOrder, measureInRounds, ratioOf, type WorkloadResult } from '../bench/workloads/rounds';
import { readStoringTimes } from '../bench/workloads/single-metrics';
import { BARE_NODE, readPgbench, type Sample, SERVICE } from '../bench/workloads/subjects';

const NO_SINGLE_METRICS: SingleMetrics = { startMs: null, exportGrowthMb: null, storing: null, memory: null };

const sample = (perSecond: number, p50Ms = 1): Sample => ({
  perSecond,
  p50Ms,
  p99Ms: 2,
  firstByteMs: 1,
  cpuSecondsPer1000: 0.1,
  databaseSecondsPer1000: 0.1,
  peakMb: 100,
});

const workload = (name: string, rates: Readonly<Record<string, readonly number[]>>): WorkloadResult => ({
  name,
  title: `GET /${name}`,
  notes: [],
  subjects: Object.entries(rates).map(([subject, perSecond]) => ({
    name: subject,
    rounds: perSecond.map((rate) => sample(rate)),
    atRates: [],
  })),
});

describe('the rules of the benchmarks', () => {
  const servers: Server[] = [];

  async function serve(listener: RequestListener): Promise<{ baseUrl: string; port: number; pid: number }> {
    const server = createServer(listener);
    servers.push(server);
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    return { baseUrl: `http://127.0.0.1:${port}`, port, pid: process.pid };
  }

  afterEach(() => {
    for (const server of servers.splice(0)) server.close().closeAllConnections();
  });

  const REQUESTS = ['GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n'];

  describe('load', () => {
    it('counts the waiting time of every request that was due while the server stalled', async () => {
      let stall: Promise<void> | undefined;
      const { port } = await serve((_, response) => {
        stall ??= pause(400);
        void stall.then(() => response.end('yes'));
      });
      const load = { ports: [port], requests: REQUESTS, connections: 1, warmupSeconds: 0, seconds: 0.5 };
      const { answered, latenciesMs, failures } = await runLoad({ ...load, perSecond: 100 });
      expect(failures).toEqual({});
      expect(answered).toBe(50);
      // One request is due every 10 ms; those of the first 300 ms waited at least 100 ms.
      expect([...latenciesMs].filter((latency) => latency > 99).length).toBeGreaterThanOrEqual(30);
    });

    it('keeps one request in flight on each connection', async () => {
      let [underWay, most] = [0, 0];
      const { port } = await serve((_, response) => {
        underWay += 1;
        most = Math.max(most, underWay);
        setTimeout(() => {
          underWay -= 1;
          response.end('yes');
        }, 5);
      });
      const requests = Array.from({ length: 8 }, () => REQUESTS[0] ?? '');
      const job = {
        ports: [port],
        requests,
        connections: 4,
        perSecond: null,
        warmupSeconds: 0,
        seconds: 0.2,
      };
      const { answered, sent } = await runLoad(job);
      expect(most).toBe(4);
      expect(answered).toBeGreaterThan(0);
      expect(sent).toBeGreaterThanOrEqual(answered);
    });

    it('counts a response that takes longer than the measured time', async () => {
      const { port } = await serve((_, response) => setTimeout(() => response.end('yes'), 150));
      const job = {
        ports: [port],
        requests: REQUESTS,
        connections: 1,
        perSecond: null,
        warmupSeconds: 0,
        seconds: 0.05,
      };
      const { answered, seconds, latenciesMs } = await runLoad(job);
      expect(answered).toBe(1);
      expect(seconds).toBeGreaterThan(0.14);
      expect(latenciesMs[0]).toBeGreaterThan(140);
    });

    it('reports responses that are not 2xx, and lost connections', async () => {
      let requests = 0;
      const { port } = await serve((request, response) => {
        requests += 1;
        if (requests > 2) request.socket.destroy();
        else response.writeHead(503).end('no');
      });
      const job = {
        ports: [port],
        requests: REQUESTS,
        connections: 1,
        perSecond: null,
        warmupSeconds: 0,
        seconds: 5,
      };
      const { answered, failures } = await runLoad(job);
      expect(answered).toBe(0);
      expect(failures).toEqual({ 0: 1, 503: 2 });
    });

    it.each([
      ['with its length', 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello'],
      ['in chunks', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n'],
      ['without a body', 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'],
    ])('reads a response %s, wherever it is split', (_, answer) => {
      for (let cut = 1; cut < answer.length; cut += 1) {
        const reader = new ResponseReader();
        const parts = [answer.slice(0, cut), answer.slice(cut), answer];
        expect(parts.map((part) => reader.take(Buffer.from(part)))).toEqual([false, true, true]);
        expect(reader.status).toBe(200);
      }
    });
  });

  describe('comparison', () => {
    it('fails when the responses differ', async () => {
      const one = await serve((_, response) => response.end('{"a":1}'));
      const other = await serve((_, response) => response.end('{"a":2}'));
      const requests = [{ path: '/me', token: 'x' }];
      await expect(assertEquivalentResponses(one, other, requests)).rejects.toThrow(
        '/me: the service responds with 1}, bare node with 2}',
      );
      await expect(assertEquivalentResponses(one, one, requests)).resolves.toBeUndefined();
    });

    it('alternates the order, and computes ratios within each round', async () => {
      expect(alternatingOrder(['a', 'b', 'c'], 0)).toEqual(['a', 'b', 'c']);
      expect(alternatingOrder(['a', 'b', 'c'], 1)).toEqual(['c', 'b', 'a']);
      // The machine became three times slower; the ratio did not change.
      const drifting = workload('me', { [SERVICE]: [60, 40, 20], [BARE_NODE]: [120, 80, 40] });
      expect(ratioOf(drifting, SERVICE, BARE_NODE)).toEqual({ median: 0.5, min: 0.5, max: 0.5 });
      expect(ratioOf(drifting, SERVICE, 'nobody')).toBeNull();
    });

    it('notes a pgbench that fails, and aborts when a server fails', async () => {
      const measured: string[] = [];
      const subject = (name: string, fails: boolean) => ({
        name,
        measure: async () => {
          measured.push(name);
          if (fails) throw new Error('no\nreason');
          return sample(1);
        },
      });
      const subjects = [subject(SERVICE, false), subject('pgbench, x', true)];
      const result = await measureInRounds({ name: 'me', title: 'me' }, subjects, {
        seconds: 1,
        rounds: 2,
      });
      expect(result.subjects.map(({ name, rounds }) => [name, rounds.length])).toEqual([[SERVICE, 2]]);
      expect(result.notes).toEqual(['pgbench, x could not be run: no']);
      const broken = [subject(SERVICE, true)];
      const options = { seconds: 1, rounds: 1 };
      await expect(measureInRounds({ name: 'me', title: 'me' }, broken, options)).rejects.toThrow('no');
    });

    it('reports which goals were reached, missed or not measured', () => {
      const workloads = [
        workload('me', { [SERVICE]: [50, 60, 64], [BARE_NODE]: [100, 100, 100] }),
        workload('proxies-100', { [SERVICE]: [310], [BARE_NODE]: [100] }),
        workload('price', { [SERVICE]: [40, 70, 66] }),
      ];
      const memory = { peakMb: 169, growthMbPerMinute: 1.5, minutes: 10, requests: 1 };
      const storing = { idle: [20, 24, 90], loaded: [20, 25, 26] };
      const startMs = spread([1400, 1499, 2500]);
      const singleMetrics = { startMs, storing, exportGrowthMb: 31, memory };
      const found = verdicts(workloads, singleMetrics);
      const reached = (what: string) => found.find((verdict) => verdict.what.includes(what))?.isReached;
      expect(reached('GET /me')).toBe(false);
      expect(reached('GET /proxies-100')).toBe(true);
      // At least the rate of GET /me: the median of 0.8, 1.17 and 1.03.
      expect(reached('GET /price')).toBe(true);
      expect(reached('proxies-1000')).toBeNull();
      expect(reached('memory over idle')).toBe(false);
      expect(reached('idle')).toBe(false);
      expect(reached('in the database, idle')).toBe(true);
      expect(reached('in the database, loaded')).toBe(false);
      expect(reached('resident')).toBe(true);
      expect(reached('growth')).toBe(false);
      expect(reached('start')).toBe(true);

      const report = compareMarkdown({
        circumstances: 'Here.',
        method: 'Thus.',
        verdicts: found,
        workloads,
        singleMetrics,
        notes: ['no pgbench'],
      });
      expect(report).toMatch(
        /GET \/me +\| +at least 0\.65 × bare node \| +0\.60 × \(0\.50 – 0\.64\) \| \*\*not reached\*\* \|/,
      );
      expect(report).toMatch(/GET \/proxies-100 .* 3\.10 × \(3\.10 – 3\.10\) \| +reached \|/);
      expect(report).toContain('- no pgbench');
      const plot = comparePlot(workloads);
      expect(plot).toMatch(/^<svg /);
      expect(plot.match(/<rect /g)?.length).toBe(1 + 2 + 5);
      expect(verdicts([], NO_SINGLE_METRICS).every(({ isReached }) => isReached === null)).toBe(true);
    });

    it('reports growth relative to the smallest size', () => {
      const sized = (p50: readonly number[]) => ({
        name: 'size',
        rounds: p50.map((p50Ms) => sample(1, p50Ms)),
        atRates: [],
      });
      const sizes = [1000, 10_000_000].map((proxies) => ({ users: 1000, proxies }));
      const workloads = [
        { name: 'me', title: 'GET /me', notes: [], subjects: [sized([1, 2, 3]), sized([1.2, 2.4, 3.6])] },
        { name: 'x', title: 'GET /x', notes: [], subjects: [sized([1, 2, 3]), sized([1.4, 2.8, 4.2])] },
      ];
      const report = growthMarkdown('Here.', { sizes, seconds: 1, rounds: 3 }, workloads);
      expect(report).toMatch(/`GET \/me` .* 1\.20 × \(1\.20 – 1\.20\) \| +reached \|/);
      expect(report).toMatch(/`GET \/x` .* 1\.40 × \(1\.40 – 1\.40\) \| +\*\*not reached\*\* \|/);
    });
  });

  describe('statistics and parsers', () => {
    it('computes nearest-rank percentiles, ratios by round, and slopes', () => {
      const values = Array.from({ length: 1000 }, (_, n) => n + 1);
      expect([50, 99, 99.9].map((percent) => percentile(values, percent))).toEqual([500, 990, 999]);
      expect(ratioSpread([1, 4, 9], [2, 4, 3])).toEqual({ median: 1, min: 0.5, max: 3 });
      expect(ratioSpread([], []).median).toBeNaN();
      expect(slope([[0, 5], [1, 7], [2, 9]])).toBeCloseTo(2); // prettier-ignore
    });

    it('parses what pgbench did after its warm-up', () => {
      const stdout =
        'number of failed transactions: 0 (0.000%)\ntps = 170.0 (without initial connection time)';
      const stderr = [
        'progress: 1.0 s, 10.0 tps, lat 800.000 ms stddev 9.000, 0 failed',
        'progress: 2.0 s, 300.0 tps, lat 3.000 ms stddev 1.000, 0 failed',
        'progress: 3.0 s, 200.0 tps, lat 4.000 ms stddev 1.000, 0 failed',
      ].join('\n');
      const run = { stdout, stderr, cpu: 2 };
      expect(readPgbench(run, 1)).toMatchObject({ perSecond: 250, databaseSecondsPer1000: 4 });
      const failed = { ...run, stdout: stdout.replace(': 0 (', ': 3 (') };
      expect(() => readPgbench(failed, 1)).toThrow('pgbench failed');
      expect(() => readPgbench(run, 3)).toThrow('pgbench failed');
    });

    it("adds up the phases of a statement in PostgreSQL's log, separately for each session", () => {
      const log = [
        '7 LOG:  duration: 1.000 ms  parse <unnamed>: WITH x AS (',
        '\tINSERT INTO proxies (id) SELECT 1)',
        '8 LOG:  duration: 0.100 ms  parse <unnamed>: INSERT INTO proxies (id)',
        '7 LOG:  duration: 2.000 ms  bind <unnamed>: WITH x AS (',
        '\tINSERT INTO proxies (id) SELECT 1)',
        '7 LOG:  duration: 9.000 ms  execute <unnamed>: SELECT 1',
        '7 LOG:  duration: 20.000 ms  execute <unnamed>: WITH x AS (',
        '\tINSERT INTO proxies (id) SELECT 1)',
        '8 LOG:  duration: 0.500 ms  execute <unnamed>: INSERT INTO proxies (id)',
      ].join('\n');
      expect(readStoringTimes(log)).toEqual([23, 0.6]);
    });

    it('starts the service with the options of start:prod', () => {
      expect(readNodeOptions('node dist/src/main.js')).toEqual([]);
      expect(readNodeOptions('exec node --require ./a.cjs --expose-gc dist/src/main.js')).toEqual([
        '--expose-gc',
      ]);
      expect(readNodeOptions('node --max-semi-space-size=2 --enable-source-maps dist/src/main.js')).toEqual([
        '--max-semi-space-size=2',
        '--enable-source-maps',
      ]);
      expect(() => readNodeOptions('npm run build && node dist/src/main.js x')).toThrow('start:prod is not');
    });
  });

  it('turns recorded statements into a script for pgbench', () => {
    const order = { orderId: 2_000_001, userId: 1_000_001, proxyId: null, providerProxyIds: ['501', '502'] };
    const script = toPgbenchScript(
      [
        { text: 'LISTEN settled_orders', parameters: [] },
        {
          text: 'SELECT * FROM place_orders($1, $2, $3) -- why',
          parameters: [
            '[{"user_id":1000001,"proxy_id":null,"attempt":"14e5159a-1c7c-4ff0-bcba-7cef05151886"}]',
            [1_000_001],
            "it's",
          ],
        },
        { text: 'SELECT id FROM orders FOR UPDATE SKIP LOCKED LIMIT $1', parameters: [1] },
        {
          text: 'INSERT INTO ledger_entries SELECT $1, $2::jsonb',
          parameters: [2_000_001, '[{"provider_proxy_id":"501"},{"provider_proxy_id":"502"}]'],
        },
        { text: 'SELECT $1, $2', parameters: [[2_000_001], { ok: true }] },
      ],
      order,
      '\\set user 1',
    );
    expect(script.split('\n')).toEqual([
      '\\set user 1',
      `SELECT * FROM place_orders((replace(replace('[{"user_id":"USER","proxy_id": null,` +
        `"attempt":"UNIQUE"}]', 'USER', :user::text), 'UNIQUE', gen_random_uuid()::text))::jsonb, ` +
        `ARRAY[:user]::bigint[], 'it''s')`,
      '\\gset placed_',
      'SELECT pg_advisory_lock(63100);',
      "SELECT id FROM orders FOR UPDATE SKIP LOCKED LIMIT '1'",
      '\\gset claimed_',
      'SELECT pg_advisory_unlock(63100);',
      `INSERT INTO ledger_entries SELECT :claimed_groupId::bigint, ` +
        `replace('[{"provider_proxy_id":"BENCH-0"},{"provider_proxy_id":"BENCH-1"}]', 'BENCH', ` +
        `nextval('bench_numbers')::text)::jsonb;`,
      // pgbench would take a name directly after a colon for a variable.
      `SELECT ARRAY[:claimed_groupId::bigint]::bigint[], '{"ok": true}';`,
      '',
    ]);
  });

  it('folds the samples of a time range into a flame graph and self times', () => {
    const frame = (functionName: string, url = '') => ({ functionName, url, lineNumber: 0 });
    const profile: CpuProfile = {
      startTime: 1000,
      nodes: [
        { id: 1, callFrame: frame('(root)'), children: [2, 4, 5] },
        { id: 2, callFrame: frame('handle', 'file:///x/dist/src/orders/a.js'), children: [3] },
        { id: 3, callFrame: frame('query', 'file:///x/node_modules/pg/lib/client.js') },
        { id: 4, callFrame: frame('(idle)') },
        { id: 5, callFrame: frame('start', 'node:internal/main') },
      ],
      samples: [5, 2, 3, 4, 3],
      timeDeltas: [0, 100, 100, 200, 50],
    };
    const root = fold(profile, 1050, 2000);
    expect(root.totalUs).toBe(300);
    expect(selfTimes(root, ({ where }) => where)).toEqual([
      ['pg', 200],
      ['src/orders', 100],
    ]);
    expect(placeOf('file:///x/node_modules/@nestjs/core/router/a.js')).toBe('@nestjs/core');
    const graph = flameGraph(root, 'a < b');
    expect(graph).toContain('<title>query (pg): 66.7 %</title>');
    expect(graph).toContain('a &lt; b');
  });
});
