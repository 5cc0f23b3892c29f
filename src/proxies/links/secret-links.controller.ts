import { Controller, Get, Param, Query, Req, Res } from '@nestjs/common';
import { ApiParam, ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { Public, Route } from '../../auth';
import { plainAddress, ServiceUnavailable, setRequestLink } from '../../common';
import { rateLimitHeaders, RequestLimits, TooManyRequests } from '../../http';
import { sendExport } from '../export/conditional-response';
import { SocksQuery } from '../export/export-proxies.query';
import { ApiNotModified, fileResponse } from '../export/file-response';
import { ProxyExportService } from '../export/proxy-export.service';
import { ListRevisionService } from '../list-revision.service';
import { LinkUses } from './link-uses';
import { SecretLinkNotFound } from './links.errors';
import { LinksService, type OpenLink } from './links.service';

/** Serves requests with a link's secret. Tokens are not accepted. */
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
  @Route({
    summary: 'Fetch a secret link',
    description:
      "Returns a link's export. Only the secret is required; tokens and other query parameters are " +
      'ignored. An unknown or expired secret returns 404 without a reason. The secret is never logged.',
    // The path does not show the format, so the description cannot state the media type.
    response: fileResponse({ '*/*': { schema: {} } }),
    errors: {
      404: [
        'There is no such link, it has expired, or it does not work from this address',
        SecretLinkNotFound,
      ],
      429: [
        'The link was fetched too often in the current minute, or the address requested too many ' +
          'unknown links',
        new TooManyRequests(17, {}),
      ],
      503: ['The service cannot reach its database', ServiceUnavailable],
    },
    errorHeaders: { 429: rateLimitHeaders('"link";q=1200;w=60', '"link";r=0;t=17') },
  })
  @ApiParam({
    name: 'secret',
    description: 'The secret in the `url` of the new link',
    schema: { type: 'string', example: 'prl_...' },
  })
  @ApiNotModified()
  async fetchLink(
    @Param('secret') secret: string,
    @Query() { socks }: SocksQuery,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    response.setHeader('X-Robots-Tag', 'noindex, nofollow');
    const link = await this.open(secret, plainAddress(request.ip));
    setRequestLink(link.id, link.userId);
    this.limits.admitLink(link.id, response);
    this.uses.note(link.id);
    const revision = await this.revisions.get(link);
    const options = { ...link.options, socks };
    await sendExport(request, response, this.exporter, revision, options, `link ${link.id} `);
  }

  /**
   * Even after too many failures, an address can open links that it has fetched before.
   * @throws SecretLinkNotFound, TooManyRequests
   */
  private async open(secret: string, address: string | null): Promise<OpenLink> {
    const refusal = this.limits.barsAddresses ? this.limits.refusalOf(address) : null;
    if (refusal && !this.links.opened(secret, address)) throw refusal;
    try {
      return await this.links.open(secret, address);
    } catch (error) {
      if (error instanceof SecretLinkNotFound) this.limits.countFailure(address);
      throw error;
    }
  }
}
