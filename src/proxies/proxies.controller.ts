import { Controller, Get, Inject, Logger, Param, Query, StreamableFile } from '@nestjs/common';
import {
  ApiExtraModels,
  ApiOkResponse,
  ApiOperation,
  ApiParam,
  ApiTags,
  getSchemaPath,
} from '@nestjs/swagger';
import { CurrentUserId, Scopes } from '../auth';
import { ApiErrorResponse, ApiValidationErrorResponse, toStream } from '../common';
import { ExportProxiesQuery } from './dto/export-proxies.query';
import { PingResponse } from './dto/ping-response.dto';
import { ProxyOut } from './dto/proxy-out.dto';
import { asJson, asText } from './export-formats';
import { ProxiesService } from './proxies.service';

const LIST_SCHEMA = { type: 'array', items: { $ref: getSchemaPath(ProxyOut) } };

@ApiTags('Proxies')
@ApiExtraModels(ProxyOut)
@Controller('proxies')
export class ProxiesController {
  private readonly logger = new Logger('Proxies');

  constructor(@Inject(ProxiesService) private readonly proxies: ProxiesService) {}

  @Get()
  @Scopes('proxies:read')
  @ApiOperation({
    operationId: 'proxies_proxies_get',
    summary: 'Proxies',
    description: 'All proxies of the user, ordered by id.',
  })
  @ApiOkResponse({
    description: 'Successful Response',
    schema: { ...LIST_SCHEMA, title: 'Response Proxies Proxies Get' },
  })
  list(@CurrentUserId() userId: number): Promise<ProxyOut[]> {
    return this.proxies.list(userId);
  }

  @Get('export')
  @Scopes('proxies:export')
  @ApiOperation({
    operationId: 'export_proxies_export_get',
    summary: 'Export',
    description:
      "The user's proxies as a file: `json` has the same fields as `GET /proxies`, `txt` has a line `host:port:login:password` for each.",
  })
  @ApiOkResponse({
    description: 'Successful Response',
    headers: {
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
    @CurrentUserId() userId: number,
    @Query() { format, proxy_type: proxyType, active_only: activeOnly }: ExportProxiesQuery,
  ): Promise<StreamableFile> {
    const batches = this.proxies.inBatches(userId, {
      proxyType: proxyType === 'all' || proxyType === null ? undefined : proxyType,
      activeOnly,
    });
    const file = await toStream(format === 'txt' ? asText(batches) : asJson(batches));
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
