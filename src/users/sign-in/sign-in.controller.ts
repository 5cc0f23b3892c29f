import { Body, Controller, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CreatedToken, Public, Route, UserBlocked } from '../../auth';
import { ServiceUnavailable, setRequestUser } from '../../common';
import { BodyTooLarge, rateLimitHeaders, RequestLimits, TooManyRequests } from '../../http';
import { InitDataTooOld, InvalidInitData, NoAccount, SignInDisabled } from './sign-in.errors';
import { SignInService } from './sign-in.service';
import { TelegramSignInRequest } from './telegram-sign-in.request';

/** Larger than any `initData` as JSON. */
const MAX_BODY_BYTES = 16 * 1024;

/** Example signed with a fictitious bot's token, `123456789:AAExampleExampleExampleExampleExample`. */
const EXAMPLE =
  'query_id=AAHdF6IQAAAAAN0XohDhrOrc&user=%7B%22id%22%3A123456789%2C%22first_name%22%3A%22Anna%22%2C' +
  '%22username%22%3A%22anna%22%7D&auth_date=1795348800&' +
  'hash=18e60b31c9e68a9a1f2c592d22e892e04fd58290eff01805ce4d00fe093a2fe5';

@ApiTags('Tokens')
@Controller('auth')
export class SignInController {
  constructor(
    private readonly signIns: SignInService,
    private readonly limits: RequestLimits,
  ) {}

  @Post('telegram')
  @Public({ maxBodyBytes: MAX_BODY_BYTES })
  @Route({
    summary: 'Sign in with Telegram',
    description:
      'For Telegram Mini Apps: issues a token that is valid for an hour to the customer who opened the ' +
      'app, with the scopes that the operator has set. `initData` is also valid for an hour; another ' +
      'request with it issues another token. A customer can have at most 10 such tokens: issuing ' +
      'another one ends the oldest. Staff create the accounts: a Telegram user without an account is ' +
      "refused. Signing in also sets `has_app` and the customer's `username` in `GET /me`.",
    status: 201,
    response: { description: 'The token, including its value', type: CreatedToken },
    body: { type: TelegramSignInRequest, examples: { 'A Mini App': { value: { initData: EXAMPLE } } } },
    errors: {
      401: ["`initData` is not from this bot's Mini App, or is too old", InvalidInitData, InitDataTooOld],
      403: ['This Telegram user has no account, or the account is blocked', NoAccount, UserBlocked],
      404: ['The operator has not configured a bot', SignInDisabled],
      413: ['The body is larger than 16 kB', BodyTooLarge],
      429: [
        'The address has sent too many requests without a valid token in the current minute, including ' +
          'failed sign-ins, or the Telegram user has signed in 20 times',
        new TooManyRequests(17, {}),
      ],
      503: ['The service cannot reach its database', ServiceUnavailable],
    },
    errorHeaders: { 429: rateLimitHeaders('"address";q=600;w=60', '"address";r=0;t=17') },
  })
  async signInWithTelegram(@Body() body: TelegramSignInRequest): Promise<CreatedToken> {
    const telegramUser = this.signIns.read(body.initData);
    this.limits.admitSignIn(telegramUser.tgId);
    const { userId, token } = await this.signIns.signIn(telegramUser);
    setRequestUser(userId, { tokenId: token.id, issuedBy: null });
    return token;
  }
}
