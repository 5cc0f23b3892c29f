import { type CanActivate, type ExecutionContext, Inject, Injectable } from '@nestjs/common';
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

/** Asks of every route what its `@Scopes` or `@Public` says. A route that says nothing keeps the application from starting. */
@Injectable()
export class AccessGuard implements CanActivate {
  constructor(
    @Inject(Reflector) private readonly reflector: Reflector,
    @Inject(BearerStrategy) private readonly bearer: BearerStrategy,
    @Inject(TokensService) private readonly tokens: TokensService,
  ) {}

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const access = this.reflector.getAllAndOverride<Access>(ACCESS, [
      context.getHandler(),
      context.getClass(),
    ]);
    if (access.public) return true;
    const request = context.switchToHttp().getRequest<Request & { user: Caller }>();
    const remembered = access.fromMemory ? this.recallCaller(request) : undefined;
    if (remembered) return admit(request, remembered, access.scope);
    return this.bearer.identify(request).then((caller) => admit(request, caller, access.scope));
  }

  private recallCaller({ headers }: Request): Caller | undefined {
    const [, token] = BEARER.exec(headers.authorization ?? '') ?? [];
    return token === undefined ? undefined : this.tokens.recallCaller(token);
  }
}

function admit(request: Request & { user: Caller }, user: Caller, scope: Scope): true {
  request.user = user;
  setRequestUser(user.userId);
  if (user.allowedIps && !isWithin(user.allowedIps, plainAddress(request.ip))) throw new AddressNotAllowed();
  if (user.isBlocked) throw new UserBlocked();
  if (!user.scopes.includes(scope)) throw new NotEnoughPermissions(scope);
  return true;
}
