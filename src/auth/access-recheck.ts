import { Injectable } from '@nestjs/common';
import type { Request } from 'express';
import { plainAddress } from '../common';
import {
  AddressNotAllowed,
  InvalidToken,
  NotAuthenticated,
  NotEnoughPermissions,
  UserBlocked,
} from './auth.errors';
import { isWithin } from './network';
import type { Scope } from './scopes';
import { type Caller, TokensService } from './tokens.service';

/** The text of a token, as passport reads it. */
const BEARER = /^Bearer +(\S+)$/i;

/** The token of a request; undefined when it has none. */
export const tokenOf = ({ headers }: Pick<Request, 'headers'>): string | undefined =>
  BEARER.exec(headers.authorization ?? '')?.[1];

/**
 * Checks what a caller's token allows.
 *
 * @param address the one that the request came from
 * @throws AddressNotAllowed, UserBlocked, NotEnoughPermissions
 */
export function assertAllowed(caller: Caller, scope: Scope, address: string | undefined): void {
  if (caller.allowedIps && !isWithin(caller.allowedIps, plainAddress(address))) throw new AddressNotAllowed();
  if (caller.isBlocked) throw new UserBlocked();
  if (!caller.scopes.includes(scope)) throw new NotEnoughPermissions(scope);
}

/**
 * Checks again what the guard checked when a request began. A request that is answered much later asks for
 * it, so that a revocation counts for it, too.
 */
@Injectable()
export class AccessRecheck {
  constructor(private readonly tokens: TokensService) {}

  /** @throws NotAuthenticated, InvalidToken, AddressNotAllowed, UserBlocked, NotEnoughPermissions */
  async assertStillAllowed(request: Request, scope: Scope): Promise<void> {
    const text = tokenOf(request);
    if (text === undefined) throw new NotAuthenticated();
    const caller = await this.tokens.findCaller(text);
    if (!caller) throw new InvalidToken();
    assertAllowed(caller, scope, request.ip);
  }
}
