import { Controller, Get, Param, Query, Req, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { type Caller, CurrentCaller, CurrentUserId, Scopes } from '../auth';
import { ExportProxiesQuery } from './dto/export-proxies.query';
import { PingResponse } from './dto/ping-response.dto';
import { sendConditionally, sendExport } from './export/conditional-answer';
import { type ExportOptions, ProxyExportService } from './export/proxy-export.service';
import { entityTag, ListRevisionService } from './list-revision.service';
import { ExportDocs, ListDocs, PingDocs } from './proxies.docs';
import { ProxiesService } from './proxies.service';

const LIST: ExportOptions = { format: 'json', template: null, proxyType: undefined, activeOnly: false };

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
    await sendConditionally(request, response, {
      tag: entityTag(revision, 'list'),
      headers: { 'Content-Type': 'application/json; charset=utf-8' },
      write: () => this.exporter.get(revision, LIST),
    });
  }

  @Get('export')
  @Scopes('proxies:export')
  @ExportDocs()
  async export(
    @CurrentCaller() caller: Caller,
    @Query() { format, template, proxy_type: type, active_only: activeOnly }: ExportProxiesQuery,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    const proxyType = type === 'all' || type === null ? undefined : type;
    const revision = await this.revisions.get(caller);
    const options = { format, template, proxyType, activeOnly };
    await sendExport(request, response, this.exporter, revision, options);
  }

  @Get(':proxy_id/ping')
  @Scopes('proxies:read')
  @PingDocs()
  async ping(@CurrentUserId() userId: number, @Param('proxy_id') proxyId: string): Promise<PingResponse> {
    return { latency_ms: await this.proxies.ping(userId, proxyId) };
  }
}
