import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { BUILD_TIMEOUT_MS, ensureBuild } from '../support/built-service';

const BENCH = join(__dirname, '..', '..', 'dist', 'bench', 'compare.js');
const TIMEOUT_MS = 180_000;

const bench = async (...options: string[]): Promise<string> =>
  (await promisify(execFile)(process.execPath, [BENCH, ...options], { env: {} })).stdout;

describe('npm run bench', () => {
  beforeAll(ensureBuild, BUILD_TIMEOUT_MS);

  it(
    'compares reads and purchases with bare node, and audits the books that it leaves',
    async () => {
      const report = await bench('--seconds', '1', '--rounds', '1', '--only', 'me,buy-1');
      for (const title of ['GET /me', 'POST /proxies/buy, 1, many users']) {
        const line = report.split('\n').find((one) => one.startsWith(`| ${title} |`));
        expect(line).toMatch(/^\| .* \| service \| [\d.]+ \([\d.]+ – [\d.]+\) \| \d+ \| \d+ ms \| \d+ ms \|/);
      }
    },
    TIMEOUT_MS,
  );

  it('refuses unknown names', async () => {
    await expect(bench('--only', 'me,nothing')).rejects.toThrow('--only has no nothing; there are health');
  });
});
