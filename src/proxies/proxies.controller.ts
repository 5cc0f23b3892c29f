import { pipeline } from 'node:stream/promises';
import { Controller, Get, Param, Query, Req, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { type Caller, CurrentCaller, CurrentUserId, Scopes } from '../auth';
import { toStream } from '../http';
import { ExportProxiesQuery } from './dto/export-proxies.query';
import { PingResponse } from './dto/ping-response.dto';
import { entityTag, ListRevisionService } from './list-revision.service';
import { ExportDocs, ListDocs, PingDocs } from './proxies.docs';
import { ProxiesService } from './proxies.service';
import { type ExportOptions, ProxyExportService } from './proxy-export.service';

const LIST: ExportOptions = { format: 'json', proxyType: undefined, activeOnly: false };

@ApiTags('Proxies')
@Controller('proxies')
export class ProxiesController {
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
    if (isKnown(request, response, entityTag(revision, 'list'))) return;
    const list = await this.exporter.get(revision, LIST);
    await send(response, list, { 'Content-Type': 'application/json; charset=utf-8' });
  }

  @Get('export')
  @Scopes('proxies:export')
  @ExportDocs()
  async export(
    @CurrentCaller() caller: Caller,
    @Query() { format, proxy_type: type, active_only: activeOnly }: ExportProxiesQuery,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    const proxyType = type === 'all' || type === null ? undefined : type;
    const revision = await this.revisions.get(caller);
    if (isKnown(request, response, entityTag(revision, `${format} ${proxyType} ${activeOnly}`))) return;
    const file = await this.exporter.get(revision, { format, proxyType, activeOnly });
    await send(response, file, {
      'Content-Type': format === 'txt' ? 'text/plain; charset=utf-8' : 'application/json',
      'Content-Disposition': `attachment; filename="proxies.${format}"`,
    });
  }

  @Get(':proxy_id/ping')
  @Scopes('proxies:read')
  @PingDocs()
  async ping(@CurrentUserId() userId: number, @Param('proxy_id') proxyId: string): Promise<PingResponse> {
    return { latency_ms: await this.proxies.ping(userId, proxyId) };
  }
}

/**
 * Sets the headers of a conditional answer and answers a caller who has it already, with 304. Only the caller
 * may store the answer, and asks again before each use.
 */
function isKnown(request: Request, response: Response, tag: string): boolean {
  response.set({ ETag: tag, 'Cache-Control': 'private, no-cache', Vary: 'Authorization' });
  if (!request.fresh) return false;
  response.status(304).end();
  return true;
}

async function send(
  response: Response,
  body: Buffer | AsyncGenerator<Buffer>,
  headers: Readonly<Record<string, string>>,
): Promise<void> {
  const stream = Buffer.isBuffer(body) ? undefined : await toStream(body);
  // Not Express's method, which would add a charset to any type.
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  if (stream) await pipeline(stream, response);
  else response.send(body);
}
