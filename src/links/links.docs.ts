import { applyDecorators } from '@nestjs/common';
import {
  ApiBody,
  ApiCreatedResponse,
  ApiNoContentResponse,
  ApiOkResponse,
  ApiOperation,
  ApiParam,
} from '@nestjs/swagger';
import {
  ApiErrorResponse,
  ApiIdParam,
  ApiTooManyRequests,
  ApiValidationErrorResponse,
  LIMIT_TOO_LARGE,
  notAnInteger,
} from '../http';
import { ApiFileAnswer } from '../proxies';
import { CreatedLink, LinkOut, LinksPage } from './dto/link-out.dto';
import { NewLinkRequest } from './dto/new-link.request';

const ApiLinkId = () =>
  applyDecorators(
    ApiIdParam('link_id', 'The `id` of a link of the user', 1),
    ApiErrorResponse(404, 'The user has no such link', 'Link not found'),
    ApiValidationErrorResponse(notAnInteger('link_id', 'five')),
  );

const EXAMPLES = {
  'A subscription for Clash': {
    value: {
      format: 'clash',
      filter: { country: 'ru', active: true },
      expires_at: '2100-01-01T00:00:00Z',
      descr: 'Clash on the laptop',
    },
  },
  'A list of one tag, for one network': {
    value: { template: '{host}:{port}', filter: { tag: 'team-a' }, networks: ['203.0.113.0/24'] },
  },
};

export const CreateLinkDocs = () =>
  applyDecorators(
    ApiOperation({
      summary: 'Make a secret link',
      description:
        'For tools that can fetch an address, but send no token: a URL with a secret of its own, which ' +
        'gives an export as it is at that moment. Whoever has it can fetch these proxies with their ' +
        'passwords, and can do nothing else. It is shown this once. It works until it is deleted, until ' +
        '`expires_at`, or until the token that made it is revoked, and never from more networks than that ' +
        'token. ' +
        'A repeated request makes another link.',
    }),
    ApiBody({ type: NewLinkRequest, examples: EXAMPLES }),
    ApiCreatedResponse({ description: 'The link, with its URL', type: CreatedLink }),
    ApiErrorResponse(400, '`expires_at` has passed', 'expires_at must lie in the future'),
    ApiErrorResponse(
      403,
      'The link would be wider than the token, or links are switched off',
      'Not enough permissions',
      'Address not allowed',
      'User is blocked',
      'A link cannot be wider than the token that makes it: expires_at, networks',
      'Links are switched off',
    ),
    ApiErrorResponse(409, 'The user has too many', 'There are 100 links already: delete some first'),
    ApiValidationErrorResponse({
      type: 'ip_any_network',
      loc: ['body', 'networks', 0],
      msg: 'Input should be an address or a network in CIDR notation',
      input: '203.0.113.0/33',
    }),
  );

export const ListLinksDocs = () =>
  applyDecorators(
    ApiOperation({
      summary: 'List the secret links',
      description:
        'The links of the user, oldest first, never with their secrets: what each gives, and when it was ' +
        'last fetched. One that has ended is shown for 30 days, unless a new one needs its room.',
    }),
    ApiOkResponse({ description: 'A page of links, oldest first', type: LinksPage }),
    ApiValidationErrorResponse(LIMIT_TOO_LARGE),
  );

export const GetLinkDocs = () =>
  applyDecorators(
    ApiOperation({ summary: 'Show a secret link', description: 'One link, without its secret.' }),
    ApiOkResponse({ description: 'The link', type: LinkOut }),
    ApiLinkId(),
  );

export const DeleteLinkDocs = () =>
  applyDecorators(
    ApiOperation({
      summary: 'Delete a secret link',
      description: 'From now on nobody can fetch it, on any replica.',
    }),
    ApiNoContentResponse({ description: 'The link was deleted' }),
    ApiLinkId(),
  );

export const FetchLinkDocs = () =>
  applyDecorators(
    ApiOperation({
      summary: 'Fetch a secret link',
      description:
        'The export of a link, by its secret alone: a token is neither needed nor looked at, and a query ' +
        'is ignored. A secret that opens nothing, whatever the reason, is answered 404. No log has it.',
    }),
    ApiParam({
      name: 'secret',
      description: 'As in the `url` of the new link',
      schema: { type: 'string', example: 'prl_...' },
    }),
    // A format is not part of the address, so that the description cannot know the media type.
    ApiFileAnswer({ '*/*': { schema: {} } }),
    ApiErrorResponse(
      404,
      'There is no such link, it has ended, or it does not work from this address',
      'Link not found',
    ),
    ApiTooManyRequests({
      description:
        'The link was fetched too often in this minute, or the address asked for too many that are not there',
      policies: '"link";q=1200;w=60',
      states: '"link";r=0;t=17',
    }),
    ApiErrorResponse(503, 'The service cannot reach its database', 'Service temporarily unavailable'),
  );
