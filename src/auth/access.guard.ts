import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Request, Response } from 'express';
import { Passport } from 'passport';
import { plainAddress, setRequestUser } from '../common';
import { isReplay, RequestLimits, TooManyRequests } from '../http';
import { assertAllowed, tokenOf } from './access-recheck';
import { ACCESS, type Access, REPLAYS } from './access.decorators';
import { InvalidToken, NotAuthenticated } from './auth.errors';
import { BearerStrategy } from './bearer.strategy';
import { type Caller, TokensService } from './tokens.service';

/** Admits a request if its route is public or its token has the required scope. */
@Injectable()
export class AccessGuard implements CanActivate {
  /** Our own instance, because all applications in a process share the one that passport exports. */
  private readonly passport = new Passport();

  constructor(
    private readonly reflector: Reflector,
    private readonly limits: RequestLimits,
    private readonly tokens: TokensService,
    strategy: BearerStrategy,
  ) {
    this.passport.use('bearer', strategy);
  }

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const access = this.reflector.getAllAndOverride<Access>(ACCESS, [
      context.getHandler(),
      context.getClass(),
    ]);
    const http = context.switchToHttp();
    const request = http.getRequest<Request & { user?: Caller }>();
    if (access.public) {
      if (access.takesBody) this.limitStrangers(request, http.getResponse<Response>());
      return true;
    }
    const caller = await this.identify(request, access.acceptsOAuth === true);
    setRequestUser(caller.userId, { tokenId: caller.tokenId, issuedBy: caller.issuedBy });
    request.user = this.limit(caller, request, http.getResponse<Response>(), context);
    assertAllowed(caller, access.scope, request);
    return true;
  }

  /** Counts 4xx responses and disconnections against the client's address. @throws TooManyRequests */
  private limitStrangers({ ip }: Request, response: Response): void {
    const address = plainAddress(ip);
    const refusal = this.limits.refusalOf(address);
    if (refusal) throw refusal;
    response.once('close', () => {
      const { statusCode, writableFinished } = response;
      const isRefused = statusCode >= 400 && statusCode < 500 && statusCode !== 429;
      if (isRefused || !writableFinished) this.limits.countFailure(address);
    });
  }

  /** After too many failures from an address, looks up only tokens that were valid at their last lookup. */
  private async identify(request: Request, acceptsOAuth: boolean): Promise<Caller> {
    if (this.limits.barsAddresses) {
      const refusal = this.limits.refusalOf(plainAddress(request.ip));
      const text = tokenOf(request);
      if (refusal && !(text !== undefined && this.tokens.wasValid(text))) throw refusal;
    }
    try {
      const caller = await this.authenticate(request);
      if (caller.origin === 'oauth' && !acceptsOAuth) throw new InvalidToken();
      return caller;
    } catch (error) {
      if (error instanceof NotAuthenticated || error instanceof InvalidToken) {
        this.limits.countFailure(plainAddress(request.ip));
      }
      throw error;
    }
  }

  /** Counts a request, except a replay, against its token's and user's limits. @throws TooManyRequests */
  private limit(caller: Caller, request: Request, response: Response, context: ExecutionContext): Caller {
    const mayReplay = request.headers['idempotency-key'] !== undefined;
    try {
      this.limits.admit(caller, response);
    } catch (error) {
      const goesOn = mayReplay && this.reflector.get<true | undefined>(REPLAYS, context.getHandler());
      if (goesOn && error instanceof TooManyRequests) return { ...caller, overLimit: error };
      throw error;
    }
    if (mayReplay) {
      response.once('finish', () => {
        if (isReplay(response)) this.limits.giveBack(caller);
      });
    }
    return caller;
  }

  /** Passes only the headers, because passport would also accept a token in the query or the body. */
  private authenticate({ headers }: Request): Promise<Caller> {
    return new Promise((resolve, reject) => {
      const onResult = (error: unknown, caller: Caller | false): void => {
        if (error) reject(error);
        else if (caller) resolve(caller);
        else reject(new NotAuthenticated());
      };
      const middleware = this.passport.authenticate('bearer', { session: false }, onResult) as (
        ...parameters: [request: Pick<Request, 'headers'>, response: Partial<Response>, next: typeof reject]
      ) => void;
      middleware({ headers }, {}, reject);
    });
  }
}
