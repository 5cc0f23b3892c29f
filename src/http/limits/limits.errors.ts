import { domainError } from '../../common';

/** A token, a user or an address exceeded its requests in a minute. */
export class TooManyRequests extends domainError(
  'rate-limited',
  'Too many requests',
  (retryAfterSeconds: number, headers: Readonly<Record<string, string>>) => ({ retryAfterSeconds, headers }),
) {}
