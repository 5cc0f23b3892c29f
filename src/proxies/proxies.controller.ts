import {
  applyDecorators,
  Controller,
  Get,
  Logger,
  Param,
  Query,
  Req,
  Res,
  StreamableFile,
} from '@nestjs/common';
import {
  ApiExtraModels,
  ApiHeader,
  ApiOkResponse,
  ApiOperation,
  ApiParam,
  ApiResponse,
  ApiTags,
  getSchemaPath,
} from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { type Caller, CurrentCaller, CurrentUserId, Scopes } from '../auth';
import { ApiErrorResponse, ApiValidationErrorResponse, toStream } from '../http';
import { ExportProxiesQuery } from './dto/export-proxies.query';
import { PingResponse } from './dto/ping-response.dto';
import { ProxyOut } from './dto/proxy-out.dto';
import { ProxiesService } from './proxies.service';
import { ProxyFilesService } from './proxy-files.service';
import { ProxyListsService } from './proxy-lists.service';
import { entityTag } from './proxy-state';
import { ProxyStatesService } from './proxy-states.service';

/**
 * Says which version of something this is, and whether the caller has it already. Nobody else may keep it, and whoever keeps it asks
 * before using it again.
 */
function isKnown(request: Request, response: Response, tag: string): boolean {
  response.set({ ETag: tag, 'Cache-Control': 'private, no-cache', Vary: 'Authorization' });
  return request.fresh;
}

const ETAG_HEADER = {
  ETag: {
    description: 'Names what is answered: it changes when a proxy does, or when a rental ends',
    schema: { type: 'string' as const, example: 'W/"8Qm3vYHn0kD2sWqTz1xJcA"' },
  },
};

/** An answer that is not sent again to who has it. */
const ApiConditional = () =>
  applyDecorators(
    ApiHeader({
      name: 'If-None-Match',
      required: false,
      description: 'The `ETag` of an earlier answer: when it still holds, the answer is 304 without a body',
      schema: { type: 'string' },
    }),
    ApiResponse({ status: 304, description: 'Nothing has changed since the answer with this `ETag`' }),
  );

const LIST_SCHEMA = { type: 'array', items: { $ref: getSchemaPath(ProxyOut) } };

@ApiTags('Proxies')
@ApiExtraModels(ProxyOut)
@Controller('proxies')
export class ProxiesController {
  private readonly logger = new Logger('Proxies');

  constructor(
    private readonly proxies: ProxiesService,
    private readonly states: ProxyStatesService,
    private readonly lists: ProxyListsService,
    private readonly files: ProxyFilesService,
  ) {}

  @Get()
  @Scopes('proxies:read')
  @ApiOperation({
    operationId: 'proxies_proxies_get',
    summary: 'Proxies',
    description: 'All proxies of the user, ordered by id.',
  })
  @ApiConditional()
  @ApiOkResponse({
    description: 'Successful Response',
    headers: ETAG_HEADER,
    schema: { ...LIST_SCHEMA, title: 'Response Proxies Proxies Get' },
  })
  async list(
    @CurrentCaller() caller: Caller,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    const state = await this.states.of(caller);
    if (isKnown(request, response, entityTag(state, 'list'))) response.status(304).end();
    else response.type('json').send(await this.lists.get(state));
  }

  @Get('export')
  @Scopes('proxies:export')
  @ApiOperation({
    operationId: 'export_proxies_export_get',
    summary: 'Export',
    description:
      "The user's proxies as a file: `json` has the same fields as `GET /proxies`, `txt` has a line `host:port:login:password` for each.",
  })
  @ApiConditional()
  @ApiOkResponse({
    description: 'Successful Response',
    headers: {
      ...ETAG_HEADER,
      'Content-Disposition': {
        description: 'The name of the file',
        schema: { type: 'string', example: 'attachment; filename="proxies.json"' },
      },
    },
    content: {
      'application/json': { schema: LIST_SCHEMA },
      'text/plain': { schema: { type: 'string' }, example: '185.22.134.250:7330:5svBNZ:iagn2d\n' },
    },
  })
  @ApiValidationErrorResponse({
    type: 'string_pattern_mismatch',
    loc: ['query', 'format'],
    msg: "String should match pattern '^(json|txt)$'",
    input: 'csv',
    ctx: { pattern: '^(json|txt)$' },
  })
  async export(
    @CurrentCaller() caller: Caller,
    @Query() { format, proxy_type: type, active_only: activeOnly }: ExportProxiesQuery,
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
  ): Promise<StreamableFile | undefined> {
    const proxyType = type === 'all' || type === null ? undefined : type;
    const state = await this.states.of(caller);
    // Nothing with a tag that is known is sent by Express as 304.
    if (isKnown(request, response, entityTag(state, `${format} ${proxyType} ${activeOnly}`))) {
      return undefined;
    }
    const now = new Date(state.fromMs);
    const file = await toStream(
      this.files.pieces({ userId: caller.userId, format, proxyType, activeOnly, now }),
    );
    return new StreamableFile(file, {
      type: format === 'txt' ? 'text/plain; charset=utf-8' : 'application/json',
      disposition: `attachment; filename="proxies.${format}"`,
    }).setErrorLogger(({ stack }) => this.logger.error('an export broke off', stack));
  }

  @Get(':proxy_id/ping')
  @Scopes('proxies:read')
  @ApiOperation({
    operationId: 'ping_proxies__proxy_id__ping_get',
    summary: 'Ping',
    description: 'Tests a TCP connection from the service to the host and port of the proxy.',
  })
  @ApiParam({ name: 'proxy_id', schema: { type: 'string', title: 'Proxy Id' }, example: '17' })
  @ApiOkResponse({ description: 'Successful Response', type: PingResponse })
  @ApiErrorResponse(404, 'No proxy of the user has this id', 'Proxy not found')
  @ApiValidationErrorResponse({
    type: 'string_type',
    loc: ['path', 'proxy_id'],
    msg: 'Input should be a valid string',
    input: null,
  })
  async ping(@CurrentUserId() userId: number, @Param('proxy_id') proxyId: string): Promise<PingResponse> {
    return { latency_ms: await this.proxies.ping(userId, proxyId) };
  }
}
