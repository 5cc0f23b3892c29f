import { type ExecutionContext, Inject, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { AuthGuard } from '@nestjs/passport';
import type { Request } from 'express';
import { setRequestUser } from '../common';
import { ACCESS, type Access } from './access.decorators';
import { AddressNotAllowed, NotAuthenticated, NotEnoughPermissions, UserBlocked } from './auth.errors';
import { isWithin, plainAddress } from './network';
import type { Scope } from './scopes';
import { type Caller, TokensService } from './tokens.service';

const BEARER = /^Bearer (\S+)$/i;

/** Asks of every route what its `@Scopes` or `@Public` says. A route that says nothing keeps the application from starting. */
@Injectable()
export class AccessGuard extends AuthGuard('bearer') {
  constructor(
    @Inject(Reflector) private readonly reflector: Reflector,
    @Inject(TokensService) private readonly tokens: TokensService,
  ) {
    super();
  }

  override canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const access = this.reflector.getAllAndOverride<Access>(ACCESS, [
      context.getHandler(),
      context.getClass(),
    ]);
    if (access.public) return true;
    const request = context.switchToHttp().getRequest<Request & { user: Caller }>();
    const remembered = access.fromMemory ? this.recallCaller(request) : undefined;
    if (!remembered) return this.authenticate(context, request, access.scope);
    request.user = remembered;
    return admit(request, access.scope);
  }

  private async authenticate(
    context: ExecutionContext,
    request: Request & { user: Caller },
    scope: Scope,
  ): Promise<boolean> {
    await super.canActivate(context);
    return admit(request, scope);
  }

  private recallCaller({ headers }: Request): Caller | undefined {
    const [, token] = BEARER.exec(headers.authorization ?? '') ?? [];
    return token === undefined ? undefined : this.tokens.recallCaller(token);
  }

  override handleRequest<User>(error: Error | null, caller: User | false): User {
    if (error) throw error;
    if (!caller) throw new NotAuthenticated();
    return caller;
  }
}

function admit(request: Request & { user: Caller }, scope: Scope): true {
  const { user } = request;
  setRequestUser(user.userId);
  if (user.allowedIps && !isWithin(user.allowedIps, plainAddress(request.ip))) throw new AddressNotAllowed();
  if (user.isBlocked) throw new UserBlocked();
  if (!user.scopes.includes(scope)) throw new NotEnoughPermissions(scope);
  return true;
}
