import { pipeline } from 'node:stream/promises';
import { Controller, Get, Logger, Param, Query, Req, Res, StreamableFile } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { type Caller, CurrentCaller, CurrentUserId, Scopes } from '../auth';
import { toStream } from '../http';
import { ExportProxiesQuery } from './dto/export-proxies.query';
import { PingResponse } from './dto/ping-response.dto';
import { entityTag, ListRevisionService } from './list-revision.service';
import { ExportDocs, ListDocs, PingDocs } from './proxies.docs';
import { ProxiesService } from './proxies.service';
import { ProxyExportService } from './proxy-export.service';

@ApiTags('Proxies')
@Controller('proxies')
export class ProxiesController {
  private readonly logger = new Logger('Proxies');

  constructor(
    private readonly proxies: ProxiesService,
    private readonly revisions: ListRevisionService,
    private readonly exporter: ProxyExportService,
  ) {}

  @Get()
  @Scopes('proxies:read')
  @ListDocs()
  async list(
    @CurrentCaller() caller: Caller,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    const revision = await this.revisions.get(caller);
    if (isKnown(request, response, entityTag(revision, 'list'))) {
      response.status(304).end();
      return;
    }
    const list = await this.exporter.getList(revision);
    response.type('json');
    if (Buffer.isBuffer(list)) response.send(list);
    else await pipeline(await toStream(list), response);
  }

  @Get('export')
  @Scopes('proxies:export')
  @ExportDocs()
  async export(
    @CurrentCaller() caller: Caller,
    @Query() { format, proxy_type: type, active_only: activeOnly }: ExportProxiesQuery,
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
  ): Promise<StreamableFile | undefined> {
    const proxyType = type === 'all' || type === null ? undefined : type;
    const revision = await this.revisions.get(caller);
    // Express answers an empty body with a known tag as 304.
    if (isKnown(request, response, entityTag(revision, `${format} ${proxyType} ${activeOnly}`))) {
      return undefined;
    }
    const pieces = this.exporter.write(revision, { format, proxyType, activeOnly });
    return new StreamableFile(await toStream(pieces), {
      type: format === 'txt' ? 'text/plain; charset=utf-8' : 'application/json',
      disposition: `attachment; filename="proxies.${format}"`,
    }).setErrorLogger(({ stack }) => this.logger.error('an export was cut off', stack));
  }

  @Get(':proxy_id/ping')
  @Scopes('proxies:read')
  @PingDocs()
  async ping(@CurrentUserId() userId: number, @Param('proxy_id') proxyId: string): Promise<PingResponse> {
    return { latency_ms: await this.proxies.ping(userId, proxyId) };
  }
}

/**
 * Sets the headers of a conditional answer and tells whether the caller has it already. Only the caller may
 * store the answer, and asks again before each use.
 */
function isKnown(request: Request, response: Response, tag: string): boolean {
  response.set({ ETag: tag, 'Cache-Control': 'private, no-cache', Vary: 'Authorization' });
  return request.fresh;
}
