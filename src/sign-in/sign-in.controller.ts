import { Body, Controller, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Public } from '../auth';
import { setRequestUser } from '../common';
import { RequestLimits } from '../limits';
import type { CreatedToken } from '../tokens';
import { TelegramSignInRequest } from './dto/telegram-sign-in.request';
import { TelegramSignInDocs } from './sign-in.docs';
import { SignInService } from './sign-in.service';

/** Longer than any `initData`, as JSON. */
const MAX_BODY_BYTES = 16 * 1024;

@ApiTags('Tokens')
@Controller('auth')
export class SignInController {
  constructor(
    private readonly signIns: SignInService,
    private readonly limits: RequestLimits,
  ) {}

  @Post('telegram')
  @Public({ maxBodyBytes: MAX_BODY_BYTES })
  @TelegramSignInDocs()
  async signInWithTelegram(@Body() body: TelegramSignInRequest): Promise<CreatedToken> {
    const telegramUser = this.signIns.read(body.initData);
    this.limits.admitSignIn(telegramUser.tgId);
    const { userId, token } = await this.signIns.signIn(telegramUser);
    setRequestUser(userId, { tokenId: token.id, issuedBy: null });
    return token;
  }
}
