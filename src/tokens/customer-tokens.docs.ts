import { applyDecorators } from '@nestjs/common';
import {
  ApiBody,
  ApiCreatedResponse,
  ApiNoContentResponse,
  ApiOkResponse,
  ApiOperation,
} from '@nestjs/swagger';
import {
  ApiErrorResponse,
  ApiIdParam,
  ApiValidationErrorResponse,
  LIMIT_TOO_LARGE,
  notAnInteger,
} from '../http';
import { NewCustomerTokenRequest } from './dto/new-token.request';
import { CreatedToken, TokenList } from './dto/token.dto';

const EXAMPLES = {
  'Reports, read only': { value: { scopes: ['profile:read', 'proxies:read'], name: 'reports' } },
  'Purchases from one network, of 500 roubles a day': {
    value: {
      scopes: ['price:read', 'proxies:write'],
      name: 'buyer',
      expires_at: '2100-01-01T00:00:00Z',
      allowed_ips: ['203.0.113.0/24'],
      daily_limit: '500.00',
    },
  },
};

export const IssueTokenDocs = () =>
  applyDecorators(
    ApiOperation({
      summary: 'Issue a token',
      description:
        'A token of your own for one purpose, never wider than the token of the request: it has none but ' +
        'its scopes, and what you leave out of `expires_at`, `allowed_ips` and `daily_limit` is as there. ' +
        'What it spends counts against the daily limit of the token of the request, too. It cannot issue ' +
        'tokens itself. Its text is shown this once. A repeated request issues another token: when an ' +
        'answer was lost, find that token by its name, and revoke it.',
    }),
    ApiBody({ type: NewCustomerTokenRequest, examples: EXAMPLES }),
    ApiCreatedResponse({ description: 'The token, with its text', type: CreatedToken }),
    ApiErrorResponse(400, '`expires_at` has passed', 'expires_at must lie in the future'),
    ApiErrorResponse(
      403,
      'The new token would be wider than that of the request, or that lacks `tokens:write`',
      'Not enough permissions',
      'Address not allowed',
      'User is blocked',
      'A token cannot grant what it lacks: proxies:write',
      'A token cannot issue one that is wider than itself: expires_at, allowed_ips, daily_limit',
    ),
    ApiErrorResponse(409, 'The user has too many', 'There are 100 tokens already: revoke some first'),
    ApiValidationErrorResponse({
      type: 'ip_any_network',
      loc: ['body', 'allowed_ips', 0],
      msg: 'Input should be an address or a network in CIDR notation',
      input: '203.0.113.0/33',
    }),
  );

export const ListTokensDocs = () =>
  applyDecorators(
    ApiOperation({
      summary: 'List the tokens',
      description:
        'The tokens of the user, oldest first, never with their text: what each may do, until when, and ' +
        'when it was last used. Of those that you issued and that have ended, the latest 20 are shown, and ' +
        'those that have placed orders.',
    }),
    ApiOkResponse({ description: 'A page of tokens, oldest first', type: TokenList }),
    ApiValidationErrorResponse(LIMIT_TOO_LARGE),
  );

export const RevokeTokenDocs = () =>
  applyDecorators(
    ApiOperation({
      summary: 'Revoke a token',
      description:
        'From the next request on it is answered 401, on every replica, and the secret links that it made ' +
        'end. The token of the request may revoke itself. Tokens that it issued go on, unless ' +
        '`descendants` is true. Repeating the request changes nothing.',
    }),
    ApiNoContentResponse({ description: 'The token is revoked' }),
    ApiIdParam('token_id', 'The `id` of a token of the user', 2),
    ApiErrorResponse(404, 'The user has no such token', 'Token not found'),
    ApiValidationErrorResponse(notAnInteger('token_id', 'five')),
  );
