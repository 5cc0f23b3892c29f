import { type ChildProcessWithoutNullStreams, execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { type Browser, chromium, type Page } from 'playwright-core';
import { beforeClosing, forAllTests } from '../support/fixtures';
import { inLongForm } from '../support/long-form';
import { describeWith, findChromium } from '../support/programs';
import { SeededRandom } from '../support/seeded-random';
import { startTcpRelay } from '../support/tcp-relay';
import { createTestDirectory, removeTestDirectory } from '../support/test-directory';
import { sharedTestService, startTestService, type TestUser } from '../support/test-service';

const run = promisify(execFile);
const SDK = '@modelcontextprotocol/sdk@1.32.2';
/** They are large to install and to load. */
const OTHERS = inLongForm(['mcp-remote@0.15.1', '@langchain/mcp-adapters@1.1.4', '@google/genai@2.32.0'], []);
const BY_OAUTH = ['the SDK 1', 'the SDK 2', ...inLongForm(['mcp-remote'], [])];
/** Fixes the dependencies' versions. */
const AS_OF = '2026-11-27';
const SUPPORT = join(__dirname, '..', 'support');
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
/** The clients come from the registry, if there is one. */
const registry = spawnSync('npm', ['view', SDK, 'version', '--fetch-retries=0'], { timeout: 15_000 });

describeWith(registry.status === 0 ? [] : ['(a registry of npm)'], 'Clients of MCP', () => {
  let directory: string;
  beforeAll(async () => {
    directory = await createTestDirectory('mcp-clients-');
    await writeFile(join(directory, 'package.json'), '{ "private": true }');
    const options = [`--before=${AS_OF}`, '--ignore-scripts', '--no-audit', '--no-fund'];
    await run('npm', ['install', ...options, SDK, ...OTHERS], { cwd: directory });
  }, INSTALL_MS);
  beforeClosing(() => removeTestDirectory(directory));
  const plain = forAllTests(sharedTestService);
  const customer = forAllTests(() => plain.createUser());

  /** Each checks responses in its own way, and with a wrong token most look for OAuth. */
  it.each([
    ['the SDK 1', 'This service does not support OAuth. Send a token issued by this shop'],
    ...inLongForm(
      [
        ['mcp-remote', 'This service does not support OAuth. Send a token issued by this shop'],
        ['LangChain', 'Invalid or expired token'],
        ['Google Gen AI', 'Invalid or expired token'],
      ],
      [],
    ),
  ])('buy once with %s and a token, and say what a wrong token is', async (client, refusal) => {
    const { available: before } = await plain.balanceOf(customer);
    const given = { client, url: `${plain.baseUrl}/mcp`, token: customer.token, wrongToken: 'prx_wrong' };
    const { stdout } = await run(process.execPath, [join(SUPPORT, 'mcp-client.mjs'), JSON.stringify(given)], {
      cwd: directory,
    });
    const { placed, again, ...result } = JSON.parse(stdout) as Record<string, object>;
    expect(result).toEqual({
      tools: 17,
      prepared: expect.objectContaining({ isError: false, price_final: '50.16', refusals: [] }),
      refused: expect.objectContaining({ isError: true, code: 'period-too-short' }),
      wrong: expect.stringContaining(refusal),
    });
    expect(placed).toMatchObject({ isError: false, delivered: 2, price_charged: '50.16', replayed: false });
    expect(again).toEqual({ ...placed, replayed: true });
    expect(Number(before) - Number((await plain.balanceOf(customer)).available)).toBeCloseTo(50.16);
  });

  describeWith(program === undefined ? ['chromium'] : [], 'without a token', () => {
    const browser = forAllTests<Browser>(() => chromium.launch({ executablePath: program ?? '' }));

    async function openPage(): Promise<{ page: Page; complaints: string[] }> {
      const page = await browser.newPage({ viewport: PHONE });
      const complaints: string[] = [];
      page.on('console', (message) => {
        const isOurs = message.location().url.startsWith(`http://127.0.0.1:${relay.port}`);
        if (isOurs) complaints.push(message.text());
      });
      return { page, complaints };
    }

    it.each(BY_OAUTH)('get from nothing to an order: %s', async (client) => {
      const given = JSON.stringify({ client, url: `http://127.0.0.1:${relay.port}/mcp` });
      const parameters = [join(SUPPORT, 'oauth-client.mjs'), given];
      const child: ChildProcessWithoutNullStreams = spawn(process.execPath, parameters, { cwd: directory });
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
          expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(
            PHONE.width,
          );
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
});

it('redirects none of many mutated authorization requests elsewhere, and fails at none', async () => {
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
  for (let round = 0; round < inLongForm(500, 50); round += 1) {
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
