import { Controller, Get, Query, Req, Res, type Type } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { type Caller, CurrentCaller, Route } from '../../auth';
import { ListRevisionService } from '../list-revision.service';
import { sendExport } from './conditional-response';
import {
  CsvFileQuery,
  ProxyFileQuery,
  TemplateFileQuery,
  toExportFilter,
  UrlFileQuery,
} from './export-proxies.query';
import { ApiNotModified, fileResponse, TXT_EXAMPLE } from './file-response';
import { FORMAT_TEXTS } from './format-texts';
import { FORMAT_NAMES, type FormatName, formatOf } from './formats';
import { ProxyExportService } from './proxy-export.service';

@ApiTags('Proxies')
@Controller('proxies/lists')
class TemplateFileController {
  constructor(
    private readonly revisions: ListRevisionService,
    private readonly exporter: ProxyExportService,
  ) {}

  @Get('template')
  @Route({
    scope: 'proxies:export',
    operationId: 'listByTemplate',
    summary: 'Export with a template',
    description: 'One line per proxy, formatted according to `template`.',
    response: fileResponse({ 'text/plain': { schema: { type: 'string' }, example: TXT_EXAMPLE } }),
  })
  @ApiNotModified()
  async get(
    @CurrentCaller() caller: Caller,
    @Query() query: TemplateFileQuery,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    const revision = await this.revisions.get(caller);
    const { template, socks } = query;
    const options = { format: 'txt', template, socks, filter: toExportFilter(query) } as const;
    await sendExport(request, response, this.exporter, revision, options);
  }
}

const capitalized = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);

const OTHER_FIELDS: Partial<Record<FormatName, Type>> = { csv: CsvFileQuery, url: UrlFileQuery };

function fileController(format: FormatName): Type {
  const { description, schema = { type: 'string' }, example } = FORMAT_TEXTS[format];
  const { contentType } = formatOf({ format, template: null });
  const [mediaType = contentType] = contentType.split(';');

  const Fields: Type<ProxyFileQuery & Partial<CsvFileQuery & UrlFileQuery>> =
    OTHER_FIELDS[format] ?? ProxyFileQuery;
  class FileQuery extends Fields {}

  @ApiTags('Proxies')
  @Controller('proxies/lists')
  class ProxyFileController {
    constructor(
      private readonly revisions: ListRevisionService,
      private readonly exporter: ProxyExportService,
    ) {}

    @Get(format)
    @Route({
      scope: 'proxies:export',
      operationId: `listAs${format.split('-').map(capitalized).join('')}`,
      summary: `As ${format}`,
      description,
      response: fileResponse({ [mediaType]: { schema, ...(example !== undefined && { example }) } }),
    })
    @ApiNotModified()
    async get(
      @CurrentCaller() caller: Caller,
      @Query() query: FileQuery,
      @Req() request: Request,
      @Res() response: Response,
    ): Promise<void> {
      const revision = await this.revisions.get(caller);
      const name = query.excel === true ? 'excel' : format;
      const { socks } = query;
      const options = { format: name, template: null, socks, filter: toExportFilter(query) } as const;
      await sendExport(request, response, this.exporter, revision, options);
    }
  }
  return ProxyFileController;
}

/** One path per format, so that each is described with its own media type. */
export const PROXY_FILE_CONTROLLERS = [...FORMAT_NAMES.map(fileController), TemplateFileController];
