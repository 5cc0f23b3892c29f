import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { NextFunction, Request, Response } from 'express';
import { LRUCache } from 'lru-cache';
import { callerOf, NotEnoughPermissions } from '../auth';
import { atMost, domainError } from '../common';
import { AppConfig } from '../config';

/** Escaped paths must not match, because they would bypass a load balancer's rules. */
const TOKEN_IN_PATH = /^\/api\/([^/?]+)/;

/**
 * Accepts a token only in the path. Rejects HEAD: Express would run the GET handler, which may buy proxies.
 */
export function receiveCall(request: Request, response: Response, next: NextFunction): void {
  response.setHeader('Cache-Control', 'no-store');
  if (request.method !== 'GET') {
    response.status(405).set('Allow', 'GET').json({ detail: 'Method Not Allowed' });
    return;
  }
  const token = TOKEN_IN_PATH.exec(request.originalUrl)?.[1];
  if (token === undefined) delete request.headers.authorization;
  else request.headers.authorization = `Bearer ${token}`;
  delete request.headers['idempotency-key'];
  next();
}

const CALLS_PER_SECOND = 3;
const WINDOW_MS = 1000;
/** Maximum number of tokens whose calls are counted; more than are used within a second. */
const MAX_TOKENS = 10_000;

class TooManyCalls extends domainError('rate-limited', 'Too many calls in this second', {
  retryAfterSeconds: 1,
}) {}

/** Requires `profile:read`, because each response shows the balance. Limits are per replica. */
@Injectable()
export class CallGuard implements CanActivate {
  private readonly admittedAtMs = new LRUCache<number, readonly number[]>(atMost(MAX_TOKENS));
  private readonly perSecond: number;

  constructor({ tuning }: AppConfig) {
    this.perSecond = tuning.px6CallsPerSecond ?? CALLS_PER_SECOND;
  }

  /** @throws NotEnoughPermissions, TooManyCalls */
  canActivate(context: ExecutionContext): boolean {
    const { tokenId, scopes } = callerOf(context.switchToHttp().getRequest<Parameters<typeof callerOf>[0]>());
    const nowMs = performance.now();
    const admitted = (this.admittedAtMs.get(tokenId) ?? []).filter((atMs) => nowMs - atMs < WINDOW_MS);
    if (admitted.length >= this.perSecond) throw new TooManyCalls();
    this.admittedAtMs.set(tokenId, [...admitted, nowMs]);
    if (!scopes.includes('profile:read')) throw new NotEnoughPermissions('profile:read');
    return true;
  }
}
