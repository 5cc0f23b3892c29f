// Calls tools with a third-party client, from the folder in which the client is installed.
import { createRequire } from 'node:module';
import { join } from 'node:path';
import process from 'node:process';

const { client: name, url, token, wrongToken } = JSON.parse(process.argv[2]);
const { resolve } = createRequire(join(process.cwd(), 'package.json'));
const load = (path) => import(resolve(path));

const { Client } = await load('@modelcontextprotocol/sdk/client/index.js');
const { StreamableHTTPClientTransport } = await load('@modelcontextprotocol/sdk/client/streamableHttp.js');
const { StdioClientTransport } = await load('@modelcontextprotocol/sdk/client/stdio.js');

const authorization = (text) => ({ Authorization: `Bearer ${text}` });
const overHttp = (options) => new StreamableHTTPClientTransport(new URL(url), options);

const authProvider = {
  redirectUrl: 'http://127.0.0.1/callback',
  clientMetadata: { client_name: 'test', redirect_uris: ['http://127.0.0.1/callback'] },
  clientInformation: () => undefined,
  saveClientInformation: () => undefined,
  tokens: () => ({ access_token: wrongToken, token_type: 'Bearer' }),
  saveTokens: () => undefined,
  redirectToAuthorization: () => undefined,
  saveCodeVerifier: () => undefined,
  codeVerifier: () => '',
};

/** mcp-remote, the local process that desktop clients use. */
const overRemote = (text, onOutput) => {
  const program = join(process.cwd(), 'node_modules', 'mcp-remote', 'dist', 'proxy.js');
  const header = `Authorization:Bearer ${text}`;
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [program, url, '--header', header, '--allow-http', '--transport', 'http-only'],
    env: { ...process.env, MCP_REMOTE_CONFIG_DIR: process.cwd(), BROWSER: 'true' },
    stderr: 'pipe',
  });
  transport.stderr.on('data', (part) => onOutput?.(String(part)));
  return transport;
};

async function connect(transport) {
  const client = new Client({ name: 'test', version: '1.0.0' });
  await client.connect(transport);
  return client;
}

async function bySdk(transport) {
  const client = await connect(transport);
  return {
    tools: (await client.listTools()).tools.length,
    call: async (tool, given) => {
      const { content, isError = false } = await client.callTool({ name: tool, arguments: given });
      return { isError, text: content[0].text };
    },
    close: () => client.close(),
  };
}

const failure = (promise) =>
  promise.then(
    () => 'connected',
    (error) => String(error.cause?.message ?? error.message),
  );

const CLIENTS = {
  'the SDK 1': {
    open: (text) => bySdk(overHttp({ requestInit: { headers: authorization(text) } })),
    refused: () => failure(connect(overHttp({ authProvider }))),
  },
  'mcp-remote': {
    open: (text) => bySdk(overRemote(text)),
    refused: async () => {
      let output = '';
      await failure(connect(overRemote(wrongToken, (part) => (output += part))));
      return output;
    },
  },
  LangChain: {
    async open(text) {
      const { MultiServerMCPClient } = await load('@langchain/mcp-adapters');
      const shop = { transport: 'http', url, headers: authorization(text) };
      const client = new MultiServerMCPClient({ mcpServers: { shop } });
      const tools = await client.getTools();
      return {
        tools: tools.length,
        call: async (tool, given) => {
          try {
            const result = await tools.find((one) => one.name === tool).invoke(given);
            return { isError: false, text: result.text };
          } catch (error) {
            return { isError: true, text: /\{.*\}/s.exec(error.message)?.[0] };
          }
        },
        close: () => client.close(),
      };
    },
    refused() {
      return failure(this.open(wrongToken));
    },
  },
  'Google Gen AI': {
    async open(text) {
      const { mcpToTool } = await load('@google/genai');
      const client = await connect(overHttp({ requestInit: { headers: authorization(text) } }));
      const callable = mcpToTool(client);
      const { functionDeclarations } = await callable.tool();
      return {
        tools: functionDeclarations.length,
        call: async (tool, args) => {
          const [part] = await callable.callTool([{ name: tool, args }]);
          const { response } = part.functionResponse;
          const { content, isError = false } = response.error ?? response;
          return { isError, text: content[0].text };
        },
        close: () => client.close(),
      };
    },
    refused() {
      return failure(this.open(wrongToken));
    },
  },
};

const client = CLIENTS[name];
const opened = await client.open(token);
const call = async (tool, given) => {
  const { isError, text } = await opened.call(tool, given);
  return { isError, ...JSON.parse(text) };
};
const prepared = await call('prepare_purchase', { country: 'ru', period: 30, count: 2 });
const order = { order_ref: prepared.order_ref };
const result = {
  tools: opened.tools,
  prepared,
  placed: await call('place_order', order),
  again: await call('place_order', order),
  refused: await call('get_price', { count: 1, period: 1 }),
};
await opened.close();
process.stdout.write(JSON.stringify({ ...result, wrong: await client.refused() }));
process.exit(0);
