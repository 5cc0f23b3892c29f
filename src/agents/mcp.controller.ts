import type { McpHttpHandler, McpRequestContext, Server } from '@modelcontextprotocol/server' with {
  'resolution-mode': 'import',
};
import { Controller, HttpCode, Post, Req, Res } from '@nestjs/common';
import { ApiExcludeEndpoint } from '@nestjs/swagger';
import type { Request as ExpressRequest, Response as ExpressResponse } from 'express';
import { AnyToken, type Caller, CurrentCaller, hexHashOf, tokenOf } from '../auth';
import { domainError, jsonOrUndefined, SERVICE_NAME, SERVICE_VERSION } from '../common';
import { AppConfig } from '../config';
import { disconnection, receivedBytes, UnparsedBody } from '../http';
import { AgentTools } from './agent-tools.service';
import type { ToolCall } from './tool';

class OriginNotAllowed extends domainError('forbidden', 'Origin not allowed') {}

const INSTRUCTIONS =
  'Rents out proxy servers from a prepaid balance in roubles. Buying takes two steps: prepare_purchase or ' +
  'prepare_prolongation shows the price; after the user agreed, place_order places the order once. If a ' +
  'response of place_order is lost, call it again with the same order_ref; never prepare the order again. ' +
  'An error has `next`, which says what to do.';

const PARSE_ERROR = -32_700;
const INVALID_REQUEST = -32_600;
const INVALID_PARAMS = -32_602;

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * The Model Context Protocol, for agents. The description omits it: its requests are JSON-RPC. Each request
 * is served on its own, on any replica, because there are no sessions.
 */
@Controller('mcp')
export class McpController {
  private handler: Promise<McpHttpHandler> | undefined;

  constructor(
    private readonly tools: AgentTools,
    private readonly config: AppConfig,
  ) {}

  @Post()
  @HttpCode(200)
  @AnyToken()
  @UnparsedBody()
  @ApiExcludeEndpoint()
  async serve(
    @CurrentCaller() caller: Caller,
    @Req() request: ExpressRequest,
    @Res() response: ExpressResponse,
  ): Promise<void> {
    this.assertOrigin(request.get('origin'));
    const message = jsonOrUndefined(receivedBytes(request).toString());
    if (message === undefined) {
      refuse(response, PARSE_ERROR, 'Parse error: the body is not JSON, or longer than 100 kB');
      return;
    }
    // A batch would be one request for the limits.
    if (Array.isArray(message)) {
      refuse(response, INVALID_REQUEST, 'Batches are not supported');
      return;
    }
    const hungUp = disconnection(response);
    const call: ToolCall = { caller, tokenHash: hexHashOf(tokenOf(request) ?? ''), request, hungUp };
    this.handler ??= this.createHandler();
    const handler = await this.handler;
    const reply = await handler.fetch(toWebRequest(request, hungUp), {
      parsedBody: message,
      // Not the token: the library has no use for it.
      authInfo: { token: '', clientId: String(caller.tokenId), scopes: [...caller.scopes], extra: { call } },
    });
    const body = Buffer.from(await reply.arrayBuffer());
    // The others are about its connection, of which the server decides.
    const type = reply.headers.get('content-type');
    if (type !== null) response.setHeader('Content-Type', type);
    response.setHeader('Cache-Control', 'no-store');
    response.status(reply.status).end(body);
  }

  /** Browsers send it. A page of somebody else could reach a service on its visitor's own machine. */
  private assertOrigin(origin: string | undefined): void {
    if (origin === undefined) return;
    const { publicUrl } = this.config.server;
    const given = URL.canParse(origin) ? new URL(origin) : undefined;
    const isAllowed = publicUrl
      ? given?.origin === new URL(publicUrl).origin
      : given !== undefined && LOOPBACK.has(given.hostname);
    if (!isAllowed) throw new OriginNotAllowed();
  }

  /** Loads the library, which takes a quarter of a second, only when an agent calls. */
  private async createHandler(): Promise<McpHttpHandler> {
    const { createMcpHandler, ProtocolError, Server } = await import('@modelcontextprotocol/server');
    const createServer = ({ authInfo }: McpRequestContext): Server => {
      const call = authInfo?.extra?.['call'] as ToolCall;
      const server = new Server(
        { name: 'proxy-rental-service', title: SERVICE_NAME, version: SERVICE_VERSION },
        { capabilities: { tools: {} }, instructions: INSTRUCTIONS },
      );
      server.setRequestHandler('tools/list', () => ({ tools: this.tools.list(call.caller) }));
      server.setRequestHandler('tools/call', async ({ params: { name, arguments: given = {} } }) => {
        const result = await this.tools.call(name, given, call);
        if (!result) throw new ProtocolError(INVALID_PARAMS, `Unknown tool: ${name}`);
        return result;
      });
      return server;
    };
    // Nothing is sent before a result, so that every response is JSON without the mode that warns of it.
    return createMcpHandler(createServer, { legacy: 'stateless', maxSubscriptions: 0 });
  }
}

function toWebRequest({ headers }: ExpressRequest, signal: AbortSignal): Request {
  const texts = Object.entries(headers).flatMap(([name, value]) =>
    typeof value === 'string' && name !== 'authorization' ? [[name, value] as [string, string]] : [],
  );
  return new Request('http://localhost/mcp', { method: 'POST', headers: texts, signal });
}

function refuse(response: ExpressResponse, code: number, message: string): void {
  response.status(400).json({ jsonrpc: '2.0', id: null, error: { code, message } });
}
