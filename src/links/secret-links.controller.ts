import { Controller, Get, Param, Req, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { Public } from '../auth';
import { plainAddress, setRequestLink } from '../common';
import { RequestLimits } from '../limits';
import { ListRevisionService, ProxyExportService, sendExport } from '../proxies';
import { LinkUses } from './link-uses.service';
import { FetchLinkDocs } from './links.docs';
import { NothingToFetch } from './links.errors';
import { LinksService, type OpenLink } from './links.service';

/** Answers whoever has the secret of a link, and a token is none. */
@ApiTags('Links')
@Controller('l')
export class SecretLinksController {
  constructor(
    private readonly links: LinksService,
    private readonly uses: LinkUses,
    private readonly limits: RequestLimits,
    private readonly revisions: ListRevisionService,
    private readonly exporter: ProxyExportService,
  ) {}

  @Get(':secret')
  @Public()
  @FetchLinkDocs()
  async fetchLink(
    @Param('secret') secret: string,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    response.setHeader('X-Robots-Tag', 'noindex, nofollow');
    const link = await this.open(secret, plainAddress(request.ip));
    setRequestLink(link.id, link.userId);
    this.limits.admitLink(link.id, response);
    this.uses.note(link.id);
    const revision = await this.revisions.get(link);
    await sendExport(request, response, this.exporter, revision, link.options, `link ${link.id} `);
  }

  /**
   * Finds the link, unless the address has asked for too many that are not there. Those that it has fetched
   * are looked up even then.
   *
   * @throws NothingToFetch, TooManyRequests
   */
  private async open(secret: string, address: string | null): Promise<OpenLink> {
    const refusal = this.limits.barsAddresses ? this.limits.refusalOf(address) : null;
    if (refusal && !this.links.opened(secret, address)) throw refusal;
    try {
      return await this.links.open(secret, address);
    } catch (error) {
      if (error instanceof NothingToFetch) this.limits.countFailure(address);
      throw error;
    }
  }
}
