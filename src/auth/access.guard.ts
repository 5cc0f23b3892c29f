import { type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { AuthGuard } from '@nestjs/passport';
import type { Request } from 'express';
import { setRequestUser } from '../common';
import { ACCESS, type Access } from './access.decorators';
import { AddressNotAllowed, NotAuthenticated, NotEnoughPermissions, UserBlocked } from './auth.errors';
import { isWithin, plainAddress } from './network';
import type { Caller } from './tokens.service';

/**
 * Lets a request through when its token satisfies the route's `@Scopes`, or when the route is `@Public`.
 * A route with neither keeps the application from starting ({@link AccessCheck}).
 */
@Injectable()
export class AccessGuard extends AuthGuard('bearer') {
  constructor(private readonly reflector: Reflector) {
    super();
  }

  /** @throws NotAuthenticated, InvalidToken, AddressNotAllowed, UserBlocked, NotEnoughPermissions */
  override async canActivate(context: ExecutionContext): Promise<boolean> {
    const access = this.reflector.getAllAndOverride<Access>(ACCESS, [
      context.getHandler(),
      context.getClass(),
    ]);
    if (access.public) return true;
    await super.canActivate(context);
    const { user: caller, ip } = context.switchToHttp().getRequest<Request & { user: Caller }>();
    setRequestUser(caller.userId);
    if (caller.allowedIps && !isWithin(caller.allowedIps, plainAddress(ip))) throw new AddressNotAllowed();
    if (caller.isBlocked) throw new UserBlocked();
    if (!caller.scopes.includes(access.scope)) throw new NotEnoughPermissions(access.scope);
    return true;
  }

  /** Passport reports a request without a readable token as `false`, without an error. */
  override handleRequest<User>(error: unknown, caller: User | false): User {
    if (error) throw error;
    if (caller === false) throw new NotAuthenticated();
    return caller;
  }
}
