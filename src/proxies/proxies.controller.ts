import { createHash } from 'node:crypto';
import { Controller, Get, Param, Query, Req, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { type Caller, CurrentCaller, CurrentUserId, Scopes } from '../auth';
import { ListProxiesQuery } from './dto/list-proxies.query';
import { PingResponse } from './dto/ping-response.dto';
import { sendConditionally, sendExport } from './export/conditional-answer';
import { ExportProxiesQuery, toExportFilter } from './export/export-proxies.query';
import { ProxyExportService } from './export/proxy-export.service';
import { isUnfiltered, type ProxyFilter } from './filter/proxy-filter';
import { toProxyFilter } from './filter/proxy-filter.query';
import { entityTag, ListRevisionService } from './list-revision.service';
import { ExportDocs, ListDocs, PingDocs } from './proxies.docs';
import { ProxiesService } from './proxies.service';
import { MAX_PAGE, type ProxyPageRequest, ProxyPagesService } from './proxy-pages.service';

const JSON_TYPE = { 'Content-Type': 'application/json; charset=utf-8' };

@ApiTags('Proxies')
@Controller('proxies')
export class ProxiesController {
  constructor(
    private readonly proxies: ProxiesService,
    private readonly revisions: ListRevisionService,
    private readonly exporter: ProxyExportService,
    private readonly pages: ProxyPagesService,
  ) {}

  @Get()
  @Scopes('proxies:read')
  @ListDocs()
  async list(
    @CurrentCaller() caller: Caller,
    @Query() query: ListProxiesQuery,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    const { limit, cursor } = query;
    const filter = toProxyFilter(query);
    if (limit === null && cursor === null) await this.sendList(caller, filter, request, response);
    else await this.sendPage(caller.userId, { filter, cursor, limit: limit ?? MAX_PAGE }, request, response);
  }

  private async sendList(
    caller: Caller,
    filter: ProxyFilter,
    request: Request,
    response: Response,
  ): Promise<void> {
    const revision = await this.revisions.get(caller);
    const variant = isUnfiltered(filter) ? 'list' : `list ${JSON.stringify(filter)}`;
    await sendConditionally(request, response, {
      tag: entityTag(revision, variant),
      headers: JSON_TYPE,
      write: (closed) => this.exporter.get(revision, { format: 'json', template: null, filter }, closed),
    });
  }

  /** The tag is that of the page itself: a change elsewhere in a long list does not concern it. */
  private async sendPage(
    userId: number,
    page: ProxyPageRequest,
    request: Request,
    response: Response,
  ): Promise<void> {
    const { json, next } = await this.pages.read(userId, page);
    if (next !== null) response.set('Link', `<${linkTo(request, next)}>; rel="next"`);
    const hash = createHash('sha256').update(`${next} ${json}`);
    await sendConditionally(request, response, {
      tag: `W/"${hash.digest('base64url').slice(0, 22)}"`,
      headers: JSON_TYPE,
      write: () => Promise.resolve(Buffer.from(json)),
    });
  }

  @Get('export')
  @Scopes('proxies:export')
  @ExportDocs()
  async export(
    @CurrentCaller() caller: Caller,
    @Query() query: ExportProxiesQuery,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    const revision = await this.revisions.get(caller);
    const options = { format: query.format, template: null, filter: toExportFilter(query) };
    await sendExport(request, response, this.exporter, revision, options);
  }

  @Get(':proxy_id/ping')
  @Scopes('proxies:read')
  @PingDocs()
  async ping(@CurrentUserId() userId: number, @Param('proxy_id') proxyId: string): Promise<PingResponse> {
    return { latency_ms: await this.proxies.ping(userId, proxyId) };
  }
}

/** The same request with another cursor. */
function linkTo({ path, query }: Request, cursor: number): string {
  const parameters = new URLSearchParams({ ...(query as Record<string, string>), cursor: String(cursor) });
  return `${path}?${parameters.toString()}`;
}
