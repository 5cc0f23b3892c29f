import { Body, Controller, Delete, Get, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { type Caller, CurrentCaller, CurrentUserId, Route } from '../../auth';
import { type ErrorsOfStatus, IdParam, PageQuery } from '../../http';
import { CreatedLink, LinkOut, LinksPage } from './link-out.dto';
import {
  LinkExpiryInPast,
  LinkNotFound,
  LinksDisabled,
  LinkWiderThanToken,
  TooManyLinks,
} from './links.errors';
import { LinksService } from './links.service';
import { NewLinkRequest } from './new-link.request';

const LinkId = () => IdParam('link_id', "The `id` of one of the user's links", 1);

const NO_SUCH_LINK: ErrorsOfStatus = ['The user has no such link', LinkNotFound];

@ApiTags('Links')
@Controller('links')
export class LinksController {
  constructor(private readonly links: LinksService) {}

  @Post()
  @Route({
    scope: 'proxies:export',
    summary: 'Create a secret link',
    description:
      'Creates a URL that contains a secret, for tools that can fetch a URL but cannot send a token. ' +
      'Each fetch returns the current export. Anyone with the URL can fetch these proxies, including ' +
      'their passwords, but nothing else. The URL is shown only once. It works until the link is ' +
      "deleted or expires, its token is revoked, or the user is blocked, and only from that token's " +
      'networks. Retrying the request creates another link.',
    status: 201,
    response: { description: 'The link, with its URL', type: CreatedLink },
    body: {
      type: NewLinkRequest,
      examples: {
        'A subscription for Clash': {
          value: {
            format: 'clash',
            filter: { country: 'ru', active: true },
            expires_at: '2100-01-01T00:00:00Z',
            name: 'Clash on the laptop',
          },
        },
        'A link to the proxies with a given tag, usable from one network only': {
          value: { template: '{host}:{port}', filter: { tag: 'team-a' }, networks: ['203.0.113.0/24'] },
        },
      },
    },
    errors: {
      400: ['`expires_at` has passed', LinkExpiryInPast],
      403: [
        'the link would allow more than the token does, or the operator has disabled links',
        new LinkWiderThanToken(['expires_at', 'networks']),
        LinksDisabled,
      ],
      409: ['The user has too many links', new TooManyLinks(100)],
    },
  })
  createLink(@CurrentCaller() caller: Caller, @Body() body: NewLinkRequest): Promise<CreatedLink> {
    return this.links.create(caller, body);
  }

  @Get()
  @Route({
    scope: 'proxies:export',
    summary: 'List the secret links',
    description:
      "The user's links, oldest first, with the content and the last fetch of each, but without their " +
      'secrets. An expired link is listed for 30 days, or until a new link takes its place.',
    response: { description: 'A page of links, oldest first', type: LinksPage },
  })
  listLinks(@CurrentUserId() userId: number, @Query() page: PageQuery): Promise<LinksPage> {
    return this.links.list(userId, page);
  }

  @Get(':link_id')
  @Route({
    scope: 'proxies:export',
    summary: 'Show a secret link',
    description: 'One link, without its secret.',
    response: { description: 'The link', type: LinkOut },
    errors: { 404: NO_SUCH_LINK },
  })
  getLink(@CurrentUserId() userId: number, @LinkId() linkId: number): Promise<LinkOut> {
    return this.links.get(userId, linkId);
  }

  @Delete(':link_id')
  @Route({
    scope: 'proxies:export',
    summary: 'Delete a secret link',
    description: 'The link immediately stops working on every replica.',
    status: 204,
    response: { description: 'The link was deleted' },
    errors: { 404: NO_SUCH_LINK },
  })
  async deleteLink(@CurrentUserId() userId: number, @LinkId() linkId: number): Promise<void> {
    await this.links.delete(userId, linkId);
  }
}
