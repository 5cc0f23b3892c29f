import { Injectable } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import type { Request } from 'express';
import { Strategy, type VerifyFunction } from 'passport-http-bearer';
import { InvalidToken } from './auth.errors';
import { type Caller, TokensService } from './tokens.service';

/** Reads the token from the header only: a token in a query string or a body would end up in logs. */
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
}
