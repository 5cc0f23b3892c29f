import type {
  CallToolResult,
  McpHttpHandler,
  McpRequestContext,
  Server,
} from '@modelcontextprotocol/server' with { 'resolution-mode': 'import' };
import { Controller, HttpCode, Post, Req, Res, UseFilters } from '@nestjs/common';
import { ApiExcludeEndpoint } from '@nestjs/swagger';
import type { Request as ExpressRequest, Response as ExpressResponse } from 'express';
import { AnyToken, type Caller, CurrentCaller, hexHashOf, tokenOf } from '../auth';
import { domainError, LOOPBACK_HOSTS, SERVICE_NAME, SERVICE_VERSION } from '../common';
import { AppConfig } from '../config';
import {
  disconnection,
  isJsonObject,
  type JsonValue,
  LargeBodies,
  parseBody,
  receivedBytes,
  UnparsedBody,
} from '../http';
import { AgentTools } from './agent-tools';
import { envelopeOf } from './envelope';
import { WrongTokenFilter } from './no-oauth';
import type { ToolCall } from './tool';

class OriginNotAllowed extends domainError('forbidden', 'Origin not allowed') {}

const INSTRUCTIONS =
  'Rents out proxy servers from a prepaid balance in roubles. Buying takes two steps: prepare_purchase ' +
  'or prepare_prolongation shows the price; after the user has agreed, place_order places the order ' +
  'once. If the response to place_order is lost, call it again with the same order_ref; never prepare ' +
  'the order again. Each error contains `next`, which says what to do.';

const PARSE_ERROR = -32_700;
const INVALID_REQUEST = -32_600;
const INVALID_PARAMS = -32_602;

const STREAM = 'text/event-stream';
/** Longer error messages are truncated, because the MCP library's may quote the whole request. */
const MOST_ERROR_LENGTH = 1000;

/** Empty responses to list methods, because some clients report a broken server if such a method fails. */
const EMPTY_LISTS: Readonly<Record<string, object>> = {
  'resources/list': { resources: [] },
  'resources/templates/list': { resourceTemplates: [] },
  'prompts/list': { prompts: [] },
};

interface Served {
  readonly call: ToolCall;
  readonly envelope: unknown;
  readonly method: unknown;
  /** Null if the message calls no tool. */
  readonly run: (() => Promise<CallToolResult>) | null;
  /** Whether the tool has been called, and may therefore have charged the customer. */
  hasRun: boolean;
}

/** Serves the Model Context Protocol without sessions, so that any replica can serve any request. */
@Controller('mcp')
@UseFilters(WrongTokenFilter)
export class McpController {
  private handler: Promise<McpHttpHandler> | undefined;

  constructor(
    private readonly tools: AgentTools,
    private readonly large: LargeBodies,
    private readonly config: AppConfig,
  ) {}

  @Post()
  @HttpCode(200)
  @AnyToken({ acceptsOAuth: true })
  @UnparsedBody()
  @ApiExcludeEndpoint()
  async serve(
    @CurrentCaller() caller: Caller,
    @Req() request: ExpressRequest,
    @Res() response: ExpressResponse,
  ): Promise<void> {
    this.assertOrigin(request.get('origin'));
    const bytes = receivedBytes(request);
    const hungUp = disconnection(response);
    const call: ToolCall = { caller, tokenHash: hexHashOf(tokenOf(request) ?? ''), request, hungUp };
    const served = await this.large.read(request, bytes, () => this.read(bytes, call));
    if (served === undefined) {
      refuse(response, PARSE_ERROR, 'Parse error: the body is not JSON, or is larger than 100 kB');
      return;
    }
    // Refuse batches, because a whole batch would count as one request against the limits.
    if (served === 'batch') {
      refuse(response, INVALID_REQUEST, 'Batches are not supported');
      return;
    }
    this.handler ??= this.createHandler();
    const handler = await this.handler;
    const reply = await handler.fetch(toWebRequest(request, served, hungUp), {
      parsedBody: served.envelope,
      // `token` stays empty, because the MCP library does not need it.
      authInfo: {
        token: '',
        clientId: String(caller.tokenId),
        scopes: [...caller.scopes],
        extra: { served },
      },
    });
    const message = messageOf(await reply.text());
    const text = served.hasRun ? message : cutError(message);
    response.setHeader('Cache-Control', 'no-store').status(reply.status);
    if (text !== '') response.type(isStreamed(request, reply) ? STREAM : 'json');
    response.end(text !== '' && isStreamed(request, reply) ? `event: message\ndata: ${text}\n\n` : text);
  }

  /** @returns undefined if the body is not JSON */
  private read(bytes: Buffer, call: ToolCall): Served | 'batch' | undefined {
    let message: JsonValue;
    try {
      message = parseBody(bytes, undefined);
    } catch {
      return undefined;
    }
    if (bytes.length === 0) return undefined;
    if (Array.isArray(message)) return 'batch';
    const { method = null, params = null } = isJsonObject(message) ? message : {};
    const { name = null, arguments: given = null } = isJsonObject(params) ? params : {};
    const run = method === 'tools/call' ? this.tools.prepare(name, given ?? {}, call) : null;
    return { call, envelope: envelopeOf(message), method, run, hasRun: false };
  }

  /** Without this check, other sites' web pages could call a service that runs on the visitor's machine. */
  private assertOrigin(origin: string | undefined): void {
    if (origin === undefined) return;
    const { publicUrl } = this.config.server;
    const given = URL.canParse(origin) ? new URL(origin) : undefined;
    const isAllowed = publicUrl
      ? given?.origin === new URL(publicUrl).origin
      : given !== undefined && LOOPBACK_HOSTS.has(given.hostname);
    if (!isAllowed) throw new OriginNotAllowed();
  }

  /** Imports the MCP library on the first request: importing takes 250 ms, and commands never need it. */
  private async createHandler(): Promise<McpHttpHandler> {
    const { createMcpHandler, ProtocolError, Server } = await import('@modelcontextprotocol/server');
    const createServer = ({ authInfo }: McpRequestContext): Server => {
      const served = authInfo?.extra?.['served'] as Served;
      const server = new Server(
        { name: 'proxy-rental-service', title: SERVICE_NAME, version: SERVICE_VERSION },
        { capabilities: { tools: {} }, instructions: INSTRUCTIONS },
      );
      server.setRequestHandler('tools/list', () => ({ tools: this.tools.list(served.call.caller) }));
      server.setRequestHandler('tools/call', async ({ params: { name } }) => {
        if (!served.run) throw new ProtocolError(INVALID_PARAMS, `Unknown tool: ${name}`);
        served.hasRun = true;
        return served.run();
      });
      const empty = EMPTY_LISTS[String(served.method)];
      if (empty) server.fallbackRequestHandler = () => Promise.resolve({ ...empty });
      return server;
    };
    return createMcpHandler(createServer, { legacy: 'stateless', maxSubscriptions: 0 });
  }
}

function toWebRequest({ headers }: ExpressRequest, { method }: Served, signal: AbortSignal): Request {
  const texts = Object.entries(headers).flatMap(([name, value]) =>
    typeof value === 'string' && name !== 'authorization' ? [[name, value] as [string, string]] : [],
  );
  const request = new Request('http://localhost/mcp', { method: 'POST', headers: texts, signal });
  // Always list both types, because the library rejects clients that do not accept both.
  request.headers.set('accept', `application/json, ${STREAM}`);
  // Drop the version header, because the library would reject clients of a later protocol revision.
  // `initialize` negotiates the version in its body.
  if (method === 'initialize') request.headers.delete('mcp-protocol-version');
  return request;
}

/** Streams responses only to clients that accept nothing else. */
const isStreamed = (request: ExpressRequest, { ok }: Response): boolean =>
  ok && !request.accepts('json') && request.accepts(STREAM) === STREAM;

/** Extracts the message from the stream that the library sends to clients of the 2025 protocol revisions. */
const messageOf = (body: string): string => /^data: (.*)$/m.exec(body)?.[1] ?? body;

function cutError(text: string): string {
  if (text.length <= MOST_ERROR_LENGTH) return text;
  const { id, error } = JSON.parse(text) as { id: unknown; error?: { code: number; message: string } };
  if (!error) return text;
  const { code, message } = error;
  return JSON.stringify({
    jsonrpc: '2.0',
    id,
    error: { code, message: message.slice(0, MOST_ERROR_LENGTH) },
  });
}

function refuse(response: ExpressResponse, code: number, message: string): void {
  response.status(400).json({ jsonrpc: '2.0', id: null, error: { code, message } });
}
