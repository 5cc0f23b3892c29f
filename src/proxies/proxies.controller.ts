import { Controller, Get, Query, Req, Res } from '@nestjs/common';
import { ApiExtraModels, ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { type Caller, CurrentCaller, CurrentUserId, Route } from '../auth';
import { ListProxiesQuery, MAX_PAGE } from './dto/list-proxies.query';
import { PingResponse } from './dto/ping-response.dto';
import { ProxyOut } from './dto/proxy-out.dto';
import { sendConditionally, sendExport } from './export/conditional-response';
import { ExportProxiesQuery, toExportFilter } from './export/export-proxies.query';
import { ApiNotModified, ETAG_HEADER, fileResponse, LIST_SCHEMA, TXT_EXAMPLE } from './export/file-response';
import { ProxyExportService } from './export/proxy-export.service';
import { isUnfiltered, type ProxyFilter } from './filter/proxy-filter';
import { toProxyFilter } from './filter/proxy-filter.query';
import { entityTag, ListRevisionService, weakTag } from './list-revision.service';
import { MAX_FILTERED, ProxiesService, type ProxyPageRequest } from './proxies.service';
import { NO_SUCH_PROXY, ProxyIdParam } from './proxy-id';

const JSON_TYPE = { 'Content-Type': 'application/json; charset=utf-8' };

@ApiTags('Proxies')
@ApiExtraModels(ProxyOut)
@Controller('proxies')
export class ProxiesController {
  constructor(
    private readonly proxies: ProxiesService,
    private readonly revisions: ListRevisionService,
    private readonly exporter: ProxyExportService,
  ) {}

  @Get()
  @Route({
    scope: 'proxies:read',
    operationId: 'proxies_proxies_get',
    summary: 'Proxies',
    description:
      'All proxies of the user, ordered by id, or those that the parameters select.\n\nWith `limit` or ' +
      '`cursor` the response is a page, whose `Link` header has the address of the next one;\nthe last ' +
      `page has none. In a list of more than ${MAX_FILTERED} proxies a page with a filter can have fewer\n` +
      'proxies than `limit`, or none, although there is a next page. A proxy that is delivered before ' +
      'the\nlast page is read is on one of the pages.',
    response: {
      description: 'Successful Response',
      headers: {
        ...ETAG_HEADER,
        Link: {
          description: 'Only on pages: the address of the next page (RFC 8288)',
          schema: { type: 'string', example: '</proxies?country=ru&limit=100&cursor=117>; rel="next"' },
        },
      },
      schema: { ...LIST_SCHEMA, title: 'Response Proxies Proxies Get' },
    },
  })
  @ApiNotModified()
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

  /** Sends a page. Its entity tag depends only on its content, not on other pages. */
  private async sendPage(
    userId: number,
    page: ProxyPageRequest,
    request: Request,
    response: Response,
  ): Promise<void> {
    const { json, next } = await this.proxies.readPage(userId, page);
    if (next !== null) response.set('Link', `<${linkTo(request, next)}>; rel="next"`);
    await sendConditionally(request, response, {
      tag: weakTag(`${next} ${json}`),
      headers: JSON_TYPE,
      write: () => Promise.resolve(Buffer.from(json)),
    });
  }

  @Get('export')
  @Route({
    scope: 'proxies:export',
    operationId: 'export_proxies_export_get',
    summary: 'Export',
    description:
      "The user's proxies as a file: the same objects as `GET /proxies`, or a line " +
      '`host:port:login:password` for each. `GET /proxies/lists/…` has other formats, each at its own ' +
      'path.',
    response: fileResponse({
      'application/json': { schema: LIST_SCHEMA },
      'text/plain': { schema: { type: 'string' }, example: TXT_EXAMPLE },
    }),
  })
  @ApiNotModified()
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
  @Route({
    scope: 'proxies:read',
    operationId: 'ping_proxies__proxy_id__ping_get',
    summary: 'Ping',
    description: 'Tests a TCP connection from the service to the host and port of the proxy.',
    response: PingResponse,
    errors: { 404: NO_SUCH_PROXY },
    invalid: {
      type: 'string_type',
      loc: ['path', 'proxy_id'],
      msg: 'Input should be a valid string',
      input: null,
    },
  })
  async ping(@CurrentUserId() userId: number, @ProxyIdParam() proxyId: string): Promise<PingResponse> {
    return { latency_ms: await this.proxies.ping(userId, proxyId) };
  }
}

function linkTo({ path, query }: Request, cursor: number): string {
  const parameters = new URLSearchParams({ ...(query as Record<string, string>), cursor: String(cursor) });
  return `${path}?${parameters.toString()}`;
}
