import type { ApiResponseNoStatusOptions } from '@nestjs/swagger';
import { describeErrors, describeInvalid, type ErrorsOfStatus, rateLimitHeaders } from './describe-route';

export const ApiErrorResponse = (status: number, ...texts: ErrorsOfStatus) => describeErrors(status, texts);

export const ApiErrorWithHeaders = (
  status: number,
  headers: ApiResponseNoStatusOptions['headers'],
  ...texts: ErrorsOfStatus
) => describeErrors(status, texts, headers);

export const ApiValidationErrorResponse = describeInvalid;

export const ApiTooManyRequests = (limit: { description: string; policies: string; states: string }) =>
  describeErrors(
    429,
    [limit.description, 'Too many requests'],
    rateLimitHeaders(limit.policies, limit.states),
  );
