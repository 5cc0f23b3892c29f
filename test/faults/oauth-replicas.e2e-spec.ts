import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { forAllTests } from '../support/fixtures';
import { listen } from '../support/listen';
import { Replicas } from '../support/replicas';
import { createTestDirectory, removeTestDirectory } from '../support/test-directory';

jest.setTimeout(120_000);

const PUBLIC_URL = 'http://127.0.0.1';
const REDIRECT = 'https://agent.example/callback';

const documents = forAllTests(
  async () => {
    const directory = await createTestDirectory('oauth-documents-');
    const files = [
      '-keyout',
      'key.pem',
      '-out',
      'cert.pem',
      '-subj',
      '/CN=localhost',
      '-nodes',
      '-days',
      '2',
    ];
    const names = ['-addext', 'subjectAltName=DNS:localhost'];
    await promisify(execFile)('openssl', ['req', '-x509', '-newkey', 'rsa:2048', ...files, ...names], {
      cwd: directory,
    });
    const [key, cert] = await Promise.all(
      ['key.pem', 'cert.pem'].map((name) => readFile(join(directory, name))),
    );
    const bodies = new Map<string, object>();
    const server = createServer({ key, cert }, (request, response) => {
      const body = bodies.get(request.url ?? '');
      if (!body) response.writeHead(302, { Location: '/client.json' });
      response.end(JSON.stringify(body));
    });
    return { directory, bodies, server, origin: `https://localhost:${await listen(server)}` };
  },
  async ({ server, directory }) => {
    server.close();
    await removeTestDirectory(directory);
  },
);

const replicas = forAllTests(() =>
  Replicas.open({
    environment: {
      PUBLIC_URL,
      MCP_OAUTH: 'on',
      WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
      NODE_EXTRA_CA_CERTS: join(documents.directory, 'cert.pem'),
    },
  }),
);

const third = forAllTests(() => replicas.start());

const post = async (baseUrl: string, path: string, fields: Record<string, string>) => {
  const body = new URLSearchParams(fields);
  return fetch(`${baseUrl}${path}`, { method: 'POST', body, redirect: 'manual' });
};

const parametersOf = (client_id: string, verifier: string) => ({
  response_type: 'code',
  client_id,
  redirect_uri: REDIRECT,
  code_challenge: createHash('sha256').update(verifier).digest('base64url'),
  code_challenge_method: 'S256',
});

const isShown = async (baseUrl: string, client_id: string): Promise<boolean> => {
  const query = new URLSearchParams(parametersOf(client_id, 'verifier')).toString();
  return (await fetch(`${baseUrl}/authorize?${query}`, { redirect: 'manual' })).status === 200;
};

it('connects a client whose id is a URL, though each step meets another replica', async () => {
  const [first, second] = [await replicas.start(), await replicas.start()];
  const { token } = await replicas.createCustomer();
  const client_id = `${documents.origin}/client.json`;
  documents.bodies.set('/client.json', { client_id, client_name: 'Assistant', redirect_uris: [REDIRECT] });
  const verifier = randomBytes(32).toString('base64url');
  const choices = { token, access: 'look', days: '1', decision: 'allow' };
  const query = new URLSearchParams(parametersOf(client_id, verifier)).toString();
  const consent = await post(first.baseUrl, `/authorize?${query}`, choices);
  const code = new URL(consent.headers.get('location') ?? '').searchParams.get('code') ?? '';
  first.kill('SIGKILL');
  const exchange = {
    grant_type: 'authorization_code',
    client_id,
    redirect_uri: REDIRECT,
    code,
    code_verifier: verifier,
  };
  const issued = (await (await post(second.baseUrl, '/token', exchange)).json()) as { refresh_token: string };
  second.kill('SIGKILL');
  const refresh = { grant_type: 'refresh_token', client_id, refresh_token: issued.refresh_token };
  const renewed = (await (await post(third.baseUrl, '/token', refresh)).json()) as { access_token: string };
  const call = await fetch(`${third.baseUrl}/mcp`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${renewed.access_token}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
  });
  expect(call.status).toBe(200);
});

it('shows no page for a document elsewhere, without TLS, redirected, or of another client', async () => {
  const { baseUrl } = third;
  const good = `${documents.origin}/client.json`;
  const metadata = { client_name: 'Assistant', redirect_uris: [REDIRECT] };
  documents.bodies.set('/client.json', { ...metadata, client_id: good });
  documents.bodies.set('/copy.json', { ...metadata, client_id: good });
  documents.bodies.set('/long.json', {
    ...metadata,
    client_id: `${documents.origin}/long.json`,
    x: 'x'.repeat(70_000),
  });
  expect(await isShown(baseUrl, good)).toBe(true);
  for (const id of [
    `${documents.origin}/copy.json`,
    `${documents.origin}/redirected.json`,
    `${documents.origin}/long.json`,
    `${documents.origin}/`,
    `${good}#part`,
    good.replace('https://', 'https://user@'),
    good.replace('https:', 'http:'),
    good.replace('localhost', '[::1]'),
    'https://10.0.0.1/client.json',
    'https://169.254.169.254/latest/meta-data',
  ]) {
    expect([id, await isShown(baseUrl, id)]).toEqual([id, false]);
  }
});
