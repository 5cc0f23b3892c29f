import { ScopeOut } from '../../auth';
import { LIMIT_TOO_LARGE, missing } from '../../http';
import { forbidden, notFound, StaffDocs } from '../staff-docs';
import { IssuedToken, NewTokenRequest, RevokedToken, RevokeRequest, TokensPage } from './staff-tokens.dto';

export const IssueTokenDocs = () =>
  StaffDocs({
    summary: 'Issue a token',
    description:
      'For support, when a customer or a colleague needs access. The token is shown once, in this answer. ' +
      'It can be limited to networks, to an amount of roubles a day (UTC), and to a time. It is never ' +
      'wider than your own token: it has none but your scopes, and what you leave out of `expires_at`, ' +
      '`allowed_ips` and `daily_limit` is as yours. What it spends counts against your daily limit, too. ' +
      'To issue tokens for customers, yours needs the scopes of customers; to give scopes of staff to ' +
      'somebody else, it needs `staff:grant`.',
    body: NewTokenRequest,
    status: 201,
    answer: { description: 'The token, whose text is shown this once', type: IssuedToken },
    errors: {
      403: forbidden(
        'the new token would be wider than it',
        'A token cannot grant what it lacks: proxies:write',
        'A token cannot issue one that is wider than itself: expires_at, allowed_ips, daily_limit',
        'Scopes of staff for another user require the scope staff:grant',
      ),
      404: notFound('user'),
    },
    invalid: {
      type: 'ip_any_network',
      loc: ['body', 'allowed_ips', 0],
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

export const ListDescendantsDocs = () =>
  StaffDocs({
    summary: 'List the tokens that came from a token',
    description:
      'For investigations, before a token is revoked with its `descendants`: the tokens that it issued, ' +
      'those that they issued, and so on, as far as they still work. Oldest first.',
    answer: { description: 'A page of tokens, oldest first', type: TokensPage },
    errors: { 404: notFound('token') },
    invalid: LIMIT_TOO_LARGE,
  });

export const RevokeTokenDocs = () =>
  StaffDocs({
    summary: 'Revoke a token',
    description:
      'For support, when a token was lost or is no longer needed. The next request with it is answered ' +
      'with 401, on every replica. Revoking a revoked token keeps the first time. With `descendants`, all ' +
      'tokens that came from it are revoked as well; list them first.',
    body: RevokeRequest,
    answer: { description: 'The token, and which others were revoked with it', type: RevokedToken },
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
