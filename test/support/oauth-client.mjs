// Takes a third-party client from nothing, through the page that it prints, to an order.
import { once } from 'node:events';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import process from 'node:process';

const { client: name, url } = JSON.parse(process.argv[2]);
const { resolve } = createRequire(join(process.cwd(), 'package.json'));
const load = (path) => import(resolve(path));

const show = (page) => process.stdout.write(`PAGE ${page}\n`);

/** Serves the redirect URI. */
const server = createServer();
const callback = once(server, 'request').then(([request, response]) => {
  response.end('Connected');
  return new URL(request.url, 'http://127.0.0.1').searchParams;
});
await once(server.listen(0, '127.0.0.1'), 'listening');
const redirectUrl = `http://127.0.0.1:${server.address().port}/callback`;

const stored = {};
const authProvider = {
  redirectUrl,
  clientMetadata: { client_name: name, redirect_uris: [redirectUrl] },
  state: () => 'a state',
  clientInformation: () => stored.client,
  saveClientInformation: (client) => (stored.client = client),
  tokens: () => stored.tokens,
  saveTokens: (tokens) => (stored.tokens = tokens),
  redirectToAuthorization: show,
  saveDiscoveryState: (discovery) => (stored.discovery = discovery),
  discoveryState: () => stored.discovery,
  saveCodeVerifier: (verifier) => (stored.verifier = verifier),
  codeVerifier: () => stored.verifier,
};

async function bySdk({ Client, StreamableHTTPClientTransport }, finish) {
  const open = () => new StreamableHTTPClientTransport(new URL(url), { authProvider });
  const client = new Client({ name: 'test', version: '1.0.0' });
  const first = open();
  await client.connect(first).then(
    () => process.exit(1),
    () => undefined,
  );
  const parameters = await callback;
  if (parameters.get('state') !== 'a state') throw new Error('another state');
  await finish(first, parameters);
  await client.connect(open());
  return client;
}

const CLIENTS = {
  'the SDK 1': async () =>
    bySdk(
      {
        ...(await load('@modelcontextprotocol/sdk/client/index.js')),
        ...(await load('@modelcontextprotocol/sdk/client/streamableHttp.js')),
      },
      (transport, parameters) => transport.finishAuth(parameters.get('code')),
    ),
  'the SDK 2': async () =>
    bySdk(await import('@modelcontextprotocol/client'), (transport, parameters) =>
      transport.finishAuth(parameters),
    ),
  'mcp-remote': async () => {
    const { Client } = await load('@modelcontextprotocol/sdk/client/index.js');
    const { StdioClientTransport } = await load('@modelcontextprotocol/sdk/client/stdio.js');
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [
        join(process.cwd(), 'node_modules', 'mcp-remote', 'dist', 'proxy.js'),
        url,
        '--allow-http',
        '--transport',
        'http-only',
      ],
      env: { ...process.env, MCP_REMOTE_CONFIG_DIR: join(process.cwd(), 'remote'), BROWSER: 'true' },
      stderr: 'pipe',
    });
    let output = '';
    let isShown = false;
    transport.stderr.on('data', (part) => {
      output += part;
      const [page] = /http\S+\/authorize\?\S+/.exec(output) ?? [];
      if (page && !isShown && /\s$/.test(output)) {
        isShown = true;
        show(page);
      }
    });
    const client = new Client({ name: 'test', version: '1.0.0' });
    await client.connect(transport, { timeout: 120_000 });
    return client;
  },
};

const client = await CLIENTS[name]();
const call = async (tool, given) =>
  (await client.callTool({ name: tool, arguments: given })).structuredContent;
const { order_ref } = await call('prepare_purchase', { country: 'ru', period: 30, count: 2 });
const placed = await call('place_order', { order_ref });
process.stdout.write(`${JSON.stringify(placed)}\n`);
process.exit(0);
