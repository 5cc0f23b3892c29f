import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Request } from 'express';
import { setRequestUser } from '../common';
import { ACCESS, type Access } from './access.decorators';
import { AddressNotAllowed, NotEnoughPermissions, UserBlocked } from './auth.errors';
import { BearerStrategy } from './bearer.strategy';
import { isWithin, plainAddress } from './network';
import type { Scope } from './scopes';
import { type Caller, TokensService } from './tokens.service';

const BEARER = /^Bearer (\S+)$/i;

interface AccessGrant {
  user: Caller;
  /** That was needed. */
  scope: Scope;
}

/** A request that was let in. */
export type AdmittedRequest = Request & AccessGrant;

/** Asks of every route what its `@Scopes` or `@Public` says. A route that says nothing keeps the application from starting. */
@Injectable()
export class AccessGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly bearer: BearerStrategy,
    private readonly tokens: TokensService,
  ) {}

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const access = this.reflector.getAllAndOverride<Access>(ACCESS, [
      context.getHandler(),
      context.getClass(),
    ]);
    if (access.public) return true;
    const request = context.switchToHttp().getRequest<Request>();
    return this.bearer.identify(request).then((caller) => {
      admit(request, caller, access.scope);
      return true;
    });
  }

  /**
   * The same of a token that is remembered, for what tells nothing of the user's own and changes nothing. Undefined when the token has to be
   * looked up.
   *
   * @throws AddressNotAllowed, UserBlocked, NotEnoughPermissions
   */
  recallCaller(request: Request, scope: Scope): Caller | undefined {
    const [, token] = BEARER.exec(request.headers.authorization ?? '') ?? [];
    const caller = token === undefined ? undefined : this.tokens.recallCaller(token);
    if (caller) admit(request, caller, scope);
    return caller;
  }
}

function admit(request: Request & { user?: unknown; scope?: Scope }, user: Caller, scope: Scope): void {
  request.user = user;
  request.scope = scope;
  setRequestUser(user.userId);
  if (user.allowedIps && !isWithin(user.allowedIps, plainAddress(request.ip))) throw new AddressNotAllowed();
  if (user.isBlocked) throw new UserBlocked();
  if (!user.scopes.includes(scope)) throw new NotEnoughPermissions(scope);
}
