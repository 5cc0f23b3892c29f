import { type ChildProcessWithoutNullStreams, execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { type Browser, chromium, type Page } from 'playwright-core';
import { beforeClosing, forAllTests } from '../support/fixtures';
import { describeWith, findChromium } from '../support/programs';
import { SeededRandom } from '../support/seeded-random';
import { startTcpRelay } from '../support/tcp-relay';
import { createTestDirectory, removeTestDirectory } from '../support/test-directory';
import { startTestService, type TestUser } from '../support/test-service';

const SDK = '@modelcontextprotocol/sdk@1.32.2';
const MCP_REMOTE = 'mcp-remote@0.15.1';
/** Fixes the dependencies' versions. */
const AS_OF = '2026-11-27';
const DRIVER = join(__dirname, '..', 'support', 'oauth-client.mjs');
const INSTALL_MS = 240_000;
const PHONE = { width: 390, height: 844 };
const relay = forAllTests(startTcpRelay);
const service = forAllTests(() =>
  startTestService({ environment: { PUBLIC_URL: `http://127.0.0.1:${relay.port}`, MCP_OAUTH: 'on' } }),
);
let user: TestUser;
beforeEach(async () => {
  relay.target = Number(new URL(service.baseUrl).port);
  user = await service.createUser({ balance: '1000.00' });
});

const program = findChromium();
const registry = spawnSync('npm', ['view', SDK, 'version', '--fetch-retries=0'], { timeout: 15_000 });
const missing = [
  ...(program === undefined ? ['chromium'] : []),
  ...(registry.status === 0 ? [] : ['(a registry of npm)']),
];

describeWith(missing, 'Clients of MCP without a token', () => {
  const browser = forAllTests<Browser>(() => chromium.launch({ executablePath: program ?? '' }));
  let directory: string;
  beforeAll(async () => {
    directory = await createTestDirectory('oauth-clients-');
    await writeFile(join(directory, 'package.json'), '{ "private": true }');
    const options = [`--before=${AS_OF}`, '--ignore-scripts', '--no-audit', '--no-fund'];
    await promisify(execFile)('npm', ['install', ...options, SDK, MCP_REMOTE], { cwd: directory });
  }, INSTALL_MS);
  beforeClosing(() => removeTestDirectory(directory));

  async function openPage(): Promise<{ page: Page; complaints: string[] }> {
    const page = await browser.newPage({ viewport: PHONE });
    const complaints: string[] = [];
    page.on('console', (message) => {
      const isOurs = message.location().url.startsWith(`http://127.0.0.1:${relay.port}`);
      if (isOurs) complaints.push(message.text());
    });
    return { page, complaints };
  }

  it.each(['the SDK 1', 'the SDK 2', 'mcp-remote'])('get from nothing to an order: %s', async (client) => {
    const given = JSON.stringify({ client, url: `http://127.0.0.1:${relay.port}/mcp` });
    const child: ChildProcessWithoutNullStreams = spawn(process.execPath, [DRIVER, given], {
      cwd: directory,
    });
    const errors: string[] = [];
    child.stderr.on('data', (text) => errors.push(String(text)));
    const { page, complaints } = await openPage();
    const lines: string[] = [];
    const ended = once(child, 'exit');
    try {
      for await (const line of createInterface(child.stdout)) {
        lines.push(line);
        if (!line.startsWith('PAGE ')) continue;
        await page.goto(line.slice('PAGE '.length));
        expect(await page.locator('h1').innerText()).toMatch(/^Connect “.+”$/);
        expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(PHONE.width);
        await page.locator('[name=token]').fill(user.token);
        await page.getByLabel('look and buy').check();
        await page.locator('[name=daily_limit]').fill('100');
        await page.getByRole('button', { name: 'Allow' }).click();
        await page.waitForURL((shown) => shown.pathname !== '/authorize');
      }
      await ended;
    } finally {
      child.kill();
      await page.close();
    }
    expect([errors.filter(() => client !== 'mcp-remote'), complaints]).toEqual([[], []]);
    expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({
      delivered: 2,
      price_charged: '50.16',
      replayed: false,
    });
    expect(await service.balanceOf(user)).toMatchObject({ available: '949.84' });
  });
});

it('redirects none of 10,000 mutated authorization requests elsewhere, and fails at none', async () => {
  const redirect_uri = 'https://agent.example/callback';
  const registered = await fetch(`${service.baseUrl}/register`, {
    method: 'POST',
    body: JSON.stringify({ redirect_uris: [redirect_uri] }),
  });
  const { client_id } = (await registered.json()) as { client_id: string };
  const whole = new URLSearchParams({
    response_type: 'code',
    client_id,
    redirect_uri,
    state: 'state',
    code_challenge: 'c'.repeat(43),
    code_challenge_method: 'S256',
    resource: `http://127.0.0.1:${relay.port}/mcp`,
  }).toString();
  const random = new SeededRandom(58);
  const pieces = [
    '',
    '%00',
    '%',
    '&',
    '=',
    '#',
    '//evil.example',
    '@evil.example',
    '\\',
    '%0d%0aX:y',
    '..',
    '𝕏',
    '[]',
    "'",
  ] as const;
  const mutate = (query: string): string => {
    const at = random.integer(0, query.length);
    return query.slice(0, at) + random.pick(pieces) + query.slice(at + random.integer(0, 8));
  };
  const odd: string[] = [];
  for (let round = 0; round < 500; round += 1) {
    await Promise.all(
      Array.from({ length: 20 }, async () => {
        let query = whole;
        for (let change = random.integer(1, 4); change > 0; change -= 1) query = mutate(query);
        const { status, headers } = await fetch(`${service.baseUrl}/authorize?${query}`, {
          redirect: 'manual',
        });
        const location = headers.get('location');
        if (status >= 500 || (location !== null && !location.startsWith(`${redirect_uri}?`))) odd.push(query);
      }),
    );
  }
  expect(odd).toEqual([]);
});
