import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { BUILD_TIMEOUT_MS, ensureBuild } from '../support/built-service';
import { createTestDirectory, removeTestDirectory } from '../support/test-directory';

const BENCH = join(__dirname, '..', '..', 'dist', 'bench', 'compare.js');
const TIMEOUT_MS = 120_000;

describe('npm run bench', () => {
  let results: string;

  beforeAll(async () => {
    await ensureBuild();
    results = await createTestDirectory('bench-');
  }, BUILD_TIMEOUT_MS);
  afterAll(() => removeTestDirectory(results));

  it(
    'compares the service with its baselines and reports the goals',
    async () => {
      const parameters = [
        '--seconds',
        '0.3',
        '--rounds',
        '1',
        '--only',
        'me,proxies-10,start',
        '--results',
        results,
      ];
      // It fails when responses differ from those of bare node or are not 2xx.
      const { stdout } = await promisify(execFile)(process.execPath, [BENCH, ...parameters], { env: {} });
      const report = await readFile(join(results, 'compare.md'), 'utf8');
      expect(stdout).toContain(report);
      expect(report).toMatch(/commit [\w ]+, Node [\d.]+, PostgreSQL 18/);

      const row = (start: string): string => report.split('\n').find((line) => line.startsWith(start)) ?? '';
      const [ratio = Number.NaN] = [...row('| GET /me ').matchAll(/([\d.]+) × \(/g)].map(([, text]) =>
        Number(text),
      );
      expect(ratio).toBeGreaterThan(0);
      const verdict = ratio >= 0.65 ? ' reached |' : ' **not reached** |';
      expect(row('| GET /me ')).toContain(verdict);
      expect(row('| start to the first response ')).toMatch(/\d ms \| +(reached|\*\*not reached\*\*) \|$/);
      expect(row("| resident under a day's mix ")).toContain('not measured');
      // Throughput, ratio, latencies, memory and CPU; then latencies at both rates.
      expect(row('| `GET /me` ')).toMatch(/service \| +[\d.]+ \(.*\d MB \| +[\d.]+ \| +[\d.]+ \|$/);
      expect(report.match(/^\| `GET \/proxies, 10` .*\/ s \| +[\d.]+ ms/m)).not.toBeNull();
      await expect(readFile(join(results, 'compare.svg'), 'utf8')).resolves.toContain('GET /proxies, 10');
    },
    TIMEOUT_MS,
  );

  it('refuses unknown names', async () => {
    await expect(
      promisify(execFile)(process.execPath, [BENCH, '--only', 'me,nothing'], { env: {} }),
    ).rejects.toThrow('--only has no nothing; there are me, countries');
  });
});
