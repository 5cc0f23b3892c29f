import { execFile, spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeClosing, forAllTests } from '../support/fixtures';
import { describeWith } from '../support/programs';
import { createTestDirectory, removeTestDirectory } from '../support/test-directory';
import { sharedTestService } from '../support/test-service';

const run = promisify(execFile);
const SDK = '@modelcontextprotocol/sdk@1.32.2';
const OTHERS = ['mcp-remote@0.15.1', '@langchain/mcp-adapters@1.1.4', '@google/genai@2.32.0'];
/** Fixes the dependencies' versions. */
const AS_OF = '2026-11-27';
const DRIVER = join(__dirname, '..', 'support', 'mcp-client.mjs');
const INSTALL_MS = 240_000;

/** Their 127 MB come from the registry, if there is one, so that no other test waits for them. */
const registry = spawnSync('npm', ['view', SDK, 'version', '--fetch-retries=0'], { timeout: 15_000 });

/** Each checks responses in its own way, and with a wrong token most look for OAuth. */
describeWith(registry.status === 0 ? [] : ['(a registry of npm)'], 'Clients of MCP', () => {
  const service = forAllTests(sharedTestService);
  const user = forAllTests(() => service.createUser());
  let directory: string;
  beforeAll(async () => {
    directory = await createTestDirectory('mcp-clients-');
    await writeFile(join(directory, 'package.json'), '{ "private": true }');
    const options = [`--before=${AS_OF}`, '--ignore-scripts', '--no-audit', '--no-fund'];
    await run('npm', ['install', ...options, SDK, ...OTHERS], { cwd: directory });
  }, INSTALL_MS);
  beforeClosing(() => removeTestDirectory(directory));

  it.each([
    ['the SDK 1', 'This service does not support OAuth. Send a token issued by this shop'],
    ['mcp-remote', 'This service does not support OAuth. Send a token issued by this shop'],
    ['LangChain', 'Invalid or expired token'],
    ['Google Gen AI', 'Invalid or expired token'],
  ])('buy once with %s, and say what a wrong token is', async (client, refusal) => {
    const { available: before } = await service.balanceOf(user);
    const given = { client, url: `${service.baseUrl}/mcp`, token: user.token, wrongToken: 'prx_wrong' };
    const { stdout } = await run(process.execPath, [DRIVER, JSON.stringify(given)], { cwd: directory });
    const { placed, again, ...result } = JSON.parse(stdout) as Record<string, object>;
    expect(result).toEqual({
      tools: 17,
      prepared: expect.objectContaining({ isError: false, price_final: '50.16', refusals: [] }),
      refused: expect.objectContaining({ isError: true, code: 'period-too-short' }),
      wrong: expect.stringContaining(refusal),
    });
    expect(placed).toMatchObject({ isError: false, delivered: 2, price_charged: '50.16', replayed: false });
    expect(again).toEqual({ ...placed, replayed: true });
    expect(Number(before) - Number((await service.balanceOf(user)).available)).toBeCloseTo(50.16);
  });
});
