import { applyDecorators } from '@nestjs/common';
import { ApiBody, ApiCreatedResponse, ApiOperation } from '@nestjs/swagger';
import { ApiErrorResponse, ApiTooManyRequests, ApiValidationErrorResponse, missing } from '../http';
import { CreatedToken } from '../tokens';
import { TelegramSignInRequest } from './dto/telegram-sign-in.request';

/** Signed with the token of a bot that does not exist: `123456789:AAExampleExampleExampleExampleExample`. */
const EXAMPLE =
  'query_id=AAHdF6IQAAAAAN0XohDhrOrc&user=%7B%22id%22%3A123456789%2C%22first_name%22%3A%22Anna%22%2C' +
  '%22username%22%3A%22anna%22%7D&auth_date=1795348800&' +
  'hash=18e60b31c9e68a9a1f2c592d22e892e04fd58290eff01805ce4d00fe093a2fe5';

export const TelegramSignInDocs = () =>
  applyDecorators(
    ApiOperation({
      summary: 'Sign in with Telegram',
      description:
        'For a Telegram Mini App: gives a token for some time to the customer who opened it. The operator ' +
        'sets for how long, and what the token may do. `initData` is valid for some time as well, an hour ' +
        'unless the operator has set another; repeating the request with it gives another token. A ' +
        'customer has 10 such tokens at most: one more ends the oldest. Accounts are opened by the ' +
        "operator: a Telegram user without one is refused. It also sets `has_app` and the customer's " +
        '`username` in `GET /me`.',
    }),
    ApiBody({ type: TelegramSignInRequest, examples: { 'A Mini App': { value: { initData: EXAMPLE } } } }),
    ApiCreatedResponse({ description: 'The token, with its text', type: CreatedToken }),
    ApiErrorResponse(
      401,
      '`initData` is not from the Mini App of this bot, or too old',
      'initData is not valid',
      'initData is too old: open the app again',
    ),
    ApiErrorResponse(
      403,
      'Nobody has opened an account for this Telegram user, or it is blocked',
      'No account belongs to this Telegram user',
      'User is blocked',
    ),
    ApiErrorResponse(404, 'The operator has named no bot', 'Sign-in with Telegram is switched off'),
    ApiErrorResponse(413, 'The body is larger than 16 kB', 'Request Entity Too Large'),
    ApiTooManyRequests({
      description:
        'The address has sent too many requests without a valid token in this minute, failed sign-ins ' +
        'included, or the Telegram user has signed in 20 times',
      policies: '"address";q=600;w=60',
      states: '"address";r=0;t=17',
    }),
    ApiValidationErrorResponse(missing('body', 'initData')),
    ApiErrorResponse(503, 'The service cannot reach its database', 'Service temporarily unavailable'),
  );
