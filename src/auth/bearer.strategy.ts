import { Injectable } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import type { Request } from 'express';
import { Strategy, type VerifyFunction } from 'passport-http-bearer';
import { InvalidToken, NotAuthenticated } from './auth.errors';
import { type Caller, TokensService } from './tokens.service';

/** passport-http-bearer, kept to the header: a token in a query string or a body would end up in logs. */
class HeaderOnlyStrategy extends Strategy<VerifyFunction> {
  override authenticate(request: Request): void {
    super.authenticate({ headers: request.headers } as Request);
  }
}

@Injectable()
export class BearerStrategy extends PassportStrategy(HeaderOnlyStrategy, 'bearer') {
  constructor(private readonly tokens: TokensService) {
    super();
  }

  async validate(token: string): Promise<Caller> {
    const caller = await this.tokens.findCaller(token);
    if (!caller) throw new InvalidToken();
    return caller;
  }

  /**
   * Who makes the request, told as passport has strategies tell it: by the methods of an object made for the one attempt. Passport's own
   * middleware also logs in and out of sessions, which costs more than the look-up.
   *
   * @throws NotAuthenticated, InvalidToken
   */
  identify(request: Request): Promise<Caller> {
    return new Promise((resolve, reject) => {
      const attempt = Object.assign(Object.create(this) as this, {
        success: resolve,
        fail: () => reject(new NotAuthenticated()),
        error: reject,
      });
      attempt.authenticate(request);
    });
  }
}
