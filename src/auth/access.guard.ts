import { type ExecutionContext, Inject, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { AuthGuard } from '@nestjs/passport';
import type { Request } from 'express';
import { setRequestUser } from '../common';
import { ACCESS, type Access } from './access.decorators';
import { AddressNotAllowed, NotAuthenticated, NotEnoughPermissions, UserBlocked } from './auth.errors';
import { isWithin, plainAddress } from './network';
import type { Caller } from './tokens.service';

/** Asks of every route what its `@Scopes` or `@Public` says. A route that says nothing keeps the application from starting. */
@Injectable()
export class AccessGuard extends AuthGuard('bearer') {
  constructor(@Inject(Reflector) private readonly reflector: Reflector) {
    super();
  }

  override async canActivate(context: ExecutionContext): Promise<boolean> {
    const access = this.reflector.getAllAndOverride<Access>(ACCESS, [
      context.getHandler(),
      context.getClass(),
    ]);
    if (access.public) return true;
    await super.canActivate(context);
    const request = context.switchToHttp().getRequest<Request & { user: Caller }>();
    const { user } = request;
    setRequestUser(user.userId);
    if (user.allowedIps && !isWithin(user.allowedIps, plainAddress(request.ip)))
      throw new AddressNotAllowed();
    if (user.isBlocked) throw new UserBlocked();
    if (!user.scopes.includes(access.scope)) throw new NotEnoughPermissions(access.scope);
    return true;
  }

  override handleRequest<User>(error: Error | null, caller: User | false): User {
    if (error) throw error;
    if (!caller) throw new NotAuthenticated();
    return caller;
  }
}
