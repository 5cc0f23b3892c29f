import { Controller, Get, Query, Req, Res, type Type } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { type Caller, CurrentCaller, Scopes } from '../../auth';
import { ListRevisionService } from '../list-revision.service';
import { sendExport } from './conditional-answer';
import { ProxyFileQuery, TemplateFileQuery, toExportFilter } from './export-proxies.query';
import { FORMAT_NAMES, type FormatName } from './formats';
import { ProxyExportService } from './proxy-export.service';
import { ProxyFileDocs, TemplateFileDocs } from './proxy-files.docs';

@ApiTags('Proxies')
@Controller('proxies/lists')
class TemplateFileController {
  constructor(
    private readonly revisions: ListRevisionService,
    private readonly exporter: ProxyExportService,
  ) {}

  @Get('template')
  @Scopes('proxies:export')
  @TemplateFileDocs()
  async get(
    @CurrentCaller() caller: Caller,
    @Query() query: TemplateFileQuery,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    const revision = await this.revisions.get(caller);
    const options = { format: 'txt', template: query.template, filter: toExportFilter(query) } as const;
    await sendExport(request, response, this.exporter, revision, options);
  }
}

function fileController(format: FormatName): Type {
  @ApiTags('Proxies')
  @Controller('proxies/lists')
  class ProxyFileController {
    constructor(
      private readonly revisions: ListRevisionService,
      private readonly exporter: ProxyExportService,
    ) {}

    @Get(format)
    @Scopes('proxies:export')
    @ProxyFileDocs(format)
    async get(
      @CurrentCaller() caller: Caller,
      @Query() query: ProxyFileQuery,
      @Req() request: Request,
      @Res() response: Response,
    ): Promise<void> {
      const revision = await this.revisions.get(caller);
      const options = { format, template: null, filter: toExportFilter(query) };
      await sendExport(request, response, this.exporter, revision, options);
    }
  }
  return ProxyFileController;
}

/** `GET /proxies/lists/{format}`: a path for each format, because a path is described with one media type. */
export const PROXY_FILE_CONTROLLERS = [...FORMAT_NAMES.map(fileController), TemplateFileController];
