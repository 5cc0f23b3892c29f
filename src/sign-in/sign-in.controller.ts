import { Body, Controller, Post, Req } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Request } from 'express';
import { plainAddress, Public, UserBlocked } from '../auth';
import { setRequestUser } from '../common';
import { RequestLimits } from '../limits';
import type { CreatedToken } from '../tokens';
import { TelegramSignInRequest } from './dto/telegram-sign-in.request';
import { TelegramSignInDocs } from './sign-in.docs';
import { InitDataTooOld, InvalidInitData, NoAccount } from './sign-in.errors';
import { SignInService } from './sign-in.service';

/** What counts as a failed authentication of an address. */
const FAILURES = [InvalidInitData, InitDataTooOld, NoAccount, UserBlocked];

@ApiTags('Tokens')
@Controller('auth')
export class SignInController {
  constructor(
    private readonly signIns: SignInService,
    private readonly limits: RequestLimits,
  ) {}

  @Post('telegram')
  @Public()
  @TelegramSignInDocs()
  async signIn(@Body() body: TelegramSignInRequest, @Req() request: Request): Promise<CreatedToken> {
    const address = plainAddress(request.ip);
    const refusal = this.limits.barsAddresses ? this.limits.refusalOf(address) : null;
    if (refusal) throw refusal;
    try {
      const telegramUser = this.signIns.read(body.initData);
      this.limits.admitSignIn(telegramUser.tgId);
      const { userId, token } = await this.signIns.signIn(telegramUser);
      setRequestUser(userId, { tokenId: token.id, issuedBy: null });
      return token;
    } catch (error) {
      if (FAILURES.some((Failure) => error instanceof Failure)) this.limits.countFailure(address);
      throw error;
    }
  }
}
