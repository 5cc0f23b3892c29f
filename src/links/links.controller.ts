import { Body, Controller, Delete, Get, HttpCode, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { type Caller, CurrentCaller, CurrentUserId, Scopes } from '../auth';
import { IdParam, PageQuery } from '../http';
import type { CreatedLink, LinkOut, LinksPage } from './dto/link-out.dto';
import { NewLinkRequest } from './dto/new-link.request';
import { CreateLinkDocs, DeleteLinkDocs, GetLinkDocs, ListLinksDocs } from './links.docs';
import { FormatBesideTemplate } from './links.errors';
import { LinksService } from './links.service';

@ApiTags('Links')
@Controller('links')
export class LinksController {
  constructor(private readonly links: LinksService) {}

  @Post()
  @CreateLinkDocs()
  @Scopes('proxies:export')
  createLink(@CurrentCaller() caller: Caller, @Body() body: NewLinkRequest): Promise<CreatedLink> {
    const { descr, expires_at: expiresAt, networks, filter, template } = body;
    if (template !== null && body.format !== 'json') throw new FormatBesideTemplate(template);
    const format = template === null ? body.format : null;
    return this.links.create(caller, { descr, expiresAt, networks, filter, template, format });
  }

  @Get()
  @ListLinksDocs()
  @Scopes('proxies:export')
  listLinks(@CurrentUserId() userId: number, @Query() page: PageQuery): Promise<LinksPage> {
    return this.links.list(userId, page);
  }

  @Get(':link_id')
  @GetLinkDocs()
  @Scopes('proxies:export')
  getLink(@CurrentUserId() userId: number, @IdParam('link_id') linkId: number): Promise<LinkOut> {
    return this.links.get(userId, linkId);
  }

  @Delete(':link_id')
  @HttpCode(204)
  @DeleteLinkDocs()
  @Scopes('proxies:export')
  async deleteLink(@CurrentUserId() userId: number, @IdParam('link_id') linkId: number): Promise<void> {
    await this.links.delete(userId, linkId);
  }
}
