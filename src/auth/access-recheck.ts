import { Injectable } from '@nestjs/common';
import type { Request } from 'express';
import { isWithin, plainAddress } from '../common';
import {
  AddressNotAllowed,
  InvalidToken,
  NotAuthenticated,
  NotEnoughPermissions,
  UserBlocked,
} from './auth.errors';
import { allowsScope, type Scope } from './scopes';
import { type Caller, TokensService } from './tokens.service';

/** Passport's pattern for a bearer token. */
const BEARER = /^Bearer +(\S+)$/i;

export const tokenOf = ({ headers }: Pick<Request, 'headers'>): string | undefined =>
  BEARER.exec(headers.authorization ?? '')?.[1];

/**
 * @param scope if null, checks only the address and whether the user is blocked
 * @throws AddressNotAllowed, UserBlocked, NotEnoughPermissions
 */
export function assertAllowed(
  caller: Caller,
  scope: Scope | null,
  { ip, method }: Pick<Request, 'ip' | 'method'>,
): void {
  if (caller.allowedIps && !isWithin(caller.allowedIps, plainAddress(ip))) throw new AddressNotAllowed();
  if (caller.isBlocked) throw new UserBlocked();
  const isRead = method === 'GET' || method === 'HEAD';
  if (scope !== null && !allowsScope(caller.scopes, scope, isRead)) throw new NotEnoughPermissions(scope);
}

/** A request whose response may be delayed until something changes. */
export interface RequestWait {
  readonly seconds: number;
  /** The request whose token is checked again after the wait. */
  readonly request: Request;
  /** Aborted when the caller disconnects. */
  readonly hungUp: AbortSignal;
}

/** Checks the token again after a long wait, because it may have been revoked during the wait. */
@Injectable()
export class AccessRecheck {
  constructor(private readonly tokens: TokensService) {}

  /** @throws NotAuthenticated, InvalidToken, AddressNotAllowed, UserBlocked, NotEnoughPermissions */
  async assertStillAllowed(request: Request, scope: Scope): Promise<void> {
    const text = tokenOf(request);
    if (text === undefined) throw new NotAuthenticated();
    await this.findAllowed(text, request, scope);
  }

  /** @throws InvalidToken, AddressNotAllowed, UserBlocked, NotEnoughPermissions */
  async findAllowed(text: string, request: Request, scope: Scope | null): Promise<Caller> {
    const caller = await this.tokens.findCaller(text);
    if (!caller) throw new InvalidToken();
    assertAllowed(caller, scope, request);
    return caller;
  }
}
