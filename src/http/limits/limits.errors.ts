import { domainError } from '../../common';

/** The caller exceeded a limit of requests in a minute, e.g. that of its token, user or address. */
export class TooManyRequests extends domainError(
  'rate-limited',
  'Too many requests',
  (retryAfterSeconds: number, headers: Readonly<Record<string, string>>) => ({ retryAfterSeconds, headers }),
) {}
