import { ScopeOut } from '../../auth';
import { ReasonRequest } from '../fields';
import { LIMIT_TOO_LARGE } from '../paging';
import { missing, notFound, StaffDocs } from '../staff-docs';
import { IssuedToken, NewTokenRequest, TokenOut, TokensPage } from './staff-tokens.dto';

export const IssueTokenDocs = () =>
  StaffDocs({
    summary: 'Issue a token',
    description:
      'For support, when a customer or a colleague needs access. The token is shown once, in this answer. ' +
      'It can be limited to networks, to an amount of roubles a day (UTC), and to a time. A token cannot ' +
      'grant a scope that it lacks itself: to issue tokens for customers, yours needs the scopes of ' +
      'customers as well.',
    body: [
      NewTokenRequest,
      {
        reading: { scopes: ['profile:read', 'proxies:read'], name: 'laptop' },
        bound: {
          scopes: ['price:read', 'proxies:write'],
          name: 'buying script',
          expires_at: '2027-11-21T00:00:00Z',
          allowed_ips: ['203.0.113.0/24', '2001:db8::/32'],
          daily_limit: '500.00',
        },
      },
    ],
    status: 201,
    answer: { description: 'The token, whose text is shown this once', type: IssuedToken },
    errors: {
      403: [
        'Or it lacks a scope that the new token is to have',
        'Not enough permissions',
        'Address not allowed',
        'User is blocked',
        'A token cannot grant what it lacks: proxies:write',
      ],
      404: notFound('user'),
    },
    invalid: {
      type: 'ip_any_network',
      loc: ['body', 'allowed_ips', '0'],
      msg: 'Input should be an address or a network in CIDR notation',
      input: '203.0.113.0/33',
    },
  });

export const ListTokensDocs = () =>
  StaffDocs({
    summary: 'List the tokens of a user',
    description:
      'For support, to see which tokens a user has, what they may do and when they were last used. Oldest ' +
      'first, and never with their text.',
    answer: { description: 'A page of tokens, oldest first', type: TokensPage },
    errors: { 404: notFound('user') },
    invalid: LIMIT_TOO_LARGE,
  });

export const RevokeTokenDocs = () =>
  StaffDocs({
    summary: 'Revoke a token',
    description:
      'For support, when a token was lost or is no longer needed. The next request with it is answered ' +
      'with 401, on every replica. Revoking a revoked token keeps the first time.',
    body: [ReasonRequest, { lost: { reason: 'Laptop lost, ticket 816' } }],
    answer: { description: 'The token', type: TokenOut },
    errors: { 404: notFound('token') },
    invalid: missing('body', 'reason'),
  });

export const ListScopesDocs = () =>
  StaffDocs({
    summary: 'List the scopes',
    description:
      'For whoever issues tokens: every scope with what it grants and the routes that require it, as the ' +
      'running service has them.',
    answer: { description: 'All scopes', type: [ScopeOut] },
  });
