import { Injectable } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import { Strategy } from 'passport-http-bearer';
import { InvalidToken } from './auth.errors';
import { type Caller, TokensService } from './tokens.service';

@Injectable()
export class BearerStrategy extends PassportStrategy(Strategy, 'bearer') {
  constructor(private readonly tokens: TokensService) {
    super();
  }

  async validate(token: string): Promise<Caller> {
    const caller = await this.tokens.findCaller(token);
    if (!caller) throw new InvalidToken();
    return caller;
  }
}
