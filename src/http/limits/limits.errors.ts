import { domainError } from '../../common';

export class TooManyRequests extends domainError(
  'rate-limited',
  'Too many requests',
  (retryAfterSeconds: number, headers: Readonly<Record<string, string>>) => ({ retryAfterSeconds, headers }),
) {}
