import 'reflect-metadata';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { chromium } from 'playwright-core';
import { createDrillDirectory } from '../drills/support/accounts';
import { requirePrograms } from '../drills/support/debian';
import { freePorts, LOOPBACK } from '../drills/support/ports';
import { type Prometheus, startNodeExporter, startPrometheus } from '../drills/support/prometheus';
import { type Panel, readPanels } from './dashboard/panels';
import { readSteadily } from './provider/steady-reads';
import { parseOptions, progress, readPositive, run } from './support/command';
import { Fixture, type Replicas } from './support/fixture';
import { nowMs, type Order, runClosedLoop } from './support/order-client';
import { PROJECT } from './support/processes';

/**
 * `npm run bench:dashboard`: draws docs/dashboard.png, the panels of operations/dashboard.json with what a
 * Prometheus saw of three replicas under load. In the course of it the provider fails for a while, and a
 * replica is gone for a while. Needs Debian's prometheus, prometheus-node-exporter and chromium.
 */

const REPLICAS = 3;
const CALLS_PER_SECOND = 3;
const BUYERS = 40;
const LATENCY_MS = 2000;
const READS_PER_SECOND = 40;
const READ_PATHS = [
  '/me',
  '/proxies?limit=10',
  '/countries',
  '/countries/ru/count',
  '/price?count=1&period=30',
];
const KINDS = ['ru', 'us', 'de', 'nl'].flatMap((country) =>
  [7, 14, 30].map((period) => ({ country, period })),
);
const SCRAPE_MS = 1000;
const POINTS = 240;
const WIDTH = 1488;

/** The replicas, of which one can be taken away for a while. */
interface Fleet {
  readonly baseUrls: readonly string[];
  readonly choose: () => string;
  takeOneAway(ms: number): Promise<void>;
}

async function startFleet(fixture: Fixture, metricsPorts: readonly number[]): Promise<Fleet> {
  // In the next minute, so that there is an audit to be seen.
  const auditTime = new Date(Date.now() + 60_000).toISOString().slice(11, 16);
  const start = (port: number | undefined): Promise<Replicas> =>
    fixture.startReplicas(1, { METRICS_PORT: String(port), AUDIT_TIME: auditTime });
  const replicas = await Promise.all(metricsPorts.map(start));
  const baseUrls = replicas.map(({ baseUrls: [baseUrl = ''] }) => baseUrl);
  let chosen = 0;
  return {
    baseUrls,
    choose: () => baseUrls[(chosen += 1) % baseUrls.length] ?? '',
    async takeOneAway(ms) {
      const last = baseUrls.length - 1;
      await replicas[last]?.stop();
      const [first = ''] = baseUrls;
      baseUrls[last] = first;
      await pause(ms);
      const again = await start(metricsPorts[last]);
      baseUrls[last] = again.baseUrls[0] ?? '';
    },
  };
}

/** Purchases of several kinds, and reads, for a while; with what goes wrong in the course of it. */
async function load(fixture: Fixture, fleet: Fleet, ms: number): Promise<void> {
  const [reader, ...buyers] = await fixture.createCustomers(BUYERS + 1);
  if (!reader) throw new Error('there is no user for the reads');
  await fixture.control.setLatencies({ buy: LATENCY_MS, prolong: LATENCY_MS });
  const fromMs = nowMs();
  const untilMs = fromMs + ms;
  let placed = 0;
  const order = (customer: Order['customer']): Order => ({
    customer,
    path: '/proxies/buy',
    body: { version: '6', count: 1, ...KINDS[(placed += 1) % KINDS.length] },
  });
  const mishaps = async (): Promise<void> => {
    await pause(ms * 0.4);
    progress('the provider fails');
    await fixture.control.addFault({ method: 'any', kind: 'http-status', status: 503, times: null });
    await pause(ms * 0.1);
    await fixture.control.resetFaults();
    await pause(ms * 0.2);
    progress('a replica is gone');
    await fleet.takeOneAway(ms * 0.1);
  };
  await Promise.all([
    mishaps(),
    runClosedLoop(
      fleet.choose,
      buyers.map((buyer) => () => order(buyer)),
      untilMs,
    ),
    // The replica that goes away is not read from: the picture is of the service, not of a balancer.
    readSteadily({
      baseUrls: fleet.baseUrls.slice(0, -1),
      customer: reader,
      paths: READ_PATHS,
      perSecond: READS_PER_SECOND,
      fromMs,
      untilMs,
    }),
  ]);
}

async function drawPicture(panels: readonly Panel[], file: string): Promise<void> {
  const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] });
  try {
    const page = await browser.newPage({ viewport: { width: WIDTH, height: 1000 } });
    await page.setContent(await readFile(join(PROJECT, 'bench', 'dashboard', 'page.html'), 'utf8'));
    const plot = join(PROJECT, 'node_modules', 'uplot', 'dist');
    await page.addStyleTag({ path: join(plot, 'uPlot.min.css') });
    await page.addScriptTag({ path: join(plot, 'uPlot.iife.min.js') });
    await page.evaluate(`draw(${JSON.stringify(panels)})`);
    await writeFile(file, await page.screenshot({ fullPage: true }));
  } finally {
    await browser.close();
  }
}

async function main(): Promise<void> {
  const options = parseOptions({
    minutes: { type: 'string', default: '5' },
    picture: { type: 'string', default: join(PROJECT, 'docs', 'dashboard.png') },
  });
  const ms = readPositive('minutes', options.minutes) * 60_000;
  requirePrograms('prometheus', 'nodeExporter');
  const fixture = await Fixture.open(CALLS_PER_SECOND);
  const directory = await createDrillDirectory('dashboard');
  const exporter = await startNodeExporter();
  let prometheus: Prometheus | undefined;
  try {
    const ports = await freePorts(REPLICAS);
    const fleet = await startFleet(fixture, ports);
    prometheus = await startPrometheus({
      directory: directory.path,
      intervalMs: SCRAPE_MS,
      jobs: {
        'proxy-rental': ports.map((port) => `${LOOPBACK}:${port}`),
        'database-host': [exporter.address],
      },
    });
    const start = Math.ceil(Date.now() / 1000);
    await load(fixture, fleet, ms);
    const end = Math.floor(Date.now() / 1000);
    const stepSeconds = Math.ceil((end - start) / POINTS);
    const panels = await readPanels(prometheus, { start, end, stepSeconds });
    await drawPicture(panels, options.picture);
    const empty = panels.filter(({ type, series }) => type !== 'row' && series.length === 0);
    progress(`panels without data: ${empty.map(({ title }) => title).join(', ') || 'none'}`);
    process.stdout.write(`${options.picture}\n`);
  } finally {
    await prometheus?.stop();
    await exporter.stop();
    await fixture.close();
    await directory.remove();
  }
}

void run(main);
