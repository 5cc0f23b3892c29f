import { applyDecorators, HttpCode, type Type } from '@nestjs/common';
import {
  ApiBody,
  type ApiBodyOptions,
  ApiExtraModels,
  ApiOperation,
  ApiResponse,
  type ApiResponseNoStatusOptions,
  getSchemaPath,
} from '@nestjs/swagger';
import { DomainError } from '../../common';
import { statusOf } from '../errors/error.filter';
import type { ValidationItem } from '../validation/input-mistake';
import { hasInput, inputOf } from '../validation/route-input';
import { bodyOf, contentOf, ErrorResponse, HTTPValidationError } from './error-response';
import { ApiIdempotencyKey, type IdempotencyKeyOptions, REPLAYED_HEADER } from './idempotency-key';
import { refusedExample } from './refused-example';

/** A domain error with a constant message is given as its class, any other as an example instance. */
export type ErrorsOfStatus = readonly [
  when: string,
  ...errors: readonly (DomainError | (new () => DomainError) | string)[],
];

type Headers = NonNullable<ApiResponseNoStatusOptions['headers']>;

export interface RouteDescription {
  /** Defaults to the handler's name. */
  readonly operationId?: string;
  readonly summary: string;
  readonly description: string;
  readonly status?: 201 | 202 | 204;
  readonly response: ApiResponseNoStatusOptions | Type<object>;
  /** Needed only for examples. Without this option, the handler's parameter type describes the body. */
  readonly body?: ApiBodyOptions;
  readonly idempotencyKey?: IdempotencyKeyOptions;
  readonly errors?: Readonly<Record<number, ErrorsOfStatus>>;
  readonly errorHeaders?: Readonly<Record<number, Headers>>;
  /** Example of a 422 response that the API contract requires, although the route rejects no input. */
  readonly invalid?: ValidationItem;
}

export function describeRoute(route: RouteDescription): MethodDecorator {
  const { operationId, summary, description, status = 200, body, idempotencyKey, invalid } = route;
  const { errors = {}, errorHeaders = {} } = route;
  const response =
    typeof route.response === 'function'
      ? { description: 'Successful Response', type: route.response }
      : route.response;
  const headers = { ...response.headers, ...(idempotencyKey && REPLAYED_HEADER) };
  return applyDecorators(
    HttpCode(status),
    ApiOperation({ summary, description, ...(operationId !== undefined && { operationId }) }),
    ApiResponse({ ...response, status, ...(Object.keys(headers).length > 0 && { headers }) }),
    ...Object.entries(errors).map(([code, texts]) =>
      describeErrors(Number(code), texts, errorHeaders[Number(code)]),
    ),
    ...(body ? [ApiBody(body)] : []),
    ...(idempotencyKey ? [ApiIdempotencyKey(idempotencyKey)] : []),
    describeInvalid(invalid),
  );
}

function describeErrors(status: number, [when, ...errors]: ErrorsOfStatus, headers?: Headers) {
  const bodies = errors.map((error) => exampleOf(error, status));
  return applyDecorators(
    ApiExtraModels(ErrorResponse),
    ApiResponse({
      status,
      description: when,
      ...(headers && { headers }),
      content: contentOf(bodies),
    }),
  );
}

/** @throws if the error filter would return the error with a different status */
function exampleOf(described: ErrorsOfStatus[number], status: number): ErrorResponse {
  if (typeof described === 'string') return { detail: described };
  const error = described instanceof DomainError ? described : new described();
  if (statusOf(error) === status) return bodyOf(error);
  throw new Error(`${error.name} is described with ${status}, and returned with ${statusOf(error)}`);
}

/** Reads the route's input, which is known because parameter decorators run before method decorators. */
const describeInvalid =
  (given?: ValidationItem): MethodDecorator =>
  (route, handler, descriptor) => {
    const input = inputOf(route.constructor as Type, String(handler));
    if (!given && !hasInput(input)) return;
    const content = {
      schema: { $ref: getSchemaPath(HTTPValidationError) },
      // Lazy, because creating all examples at startup would take 50 ms.
      get example() {
        return { detail: [given ?? refusedExample(input)] };
      },
    };
    applyDecorators(
      ApiExtraModels(HTTPValidationError),
      ApiResponse({
        status: 422,
        description: 'Validation Error',
        content: { 'application/json': content },
      }),
    )(route, handler, descriptor);
  };

export const rateLimitHeaders = (policies: string, states: string) => ({
  'Retry-After': {
    description: 'Seconds until the next minute begins',
    schema: { type: 'integer' as const, minimum: 1, example: 17 },
  },
  'RateLimit-Policy': {
    description: 'The limits: `q` requests in `w` seconds',
    schema: { type: 'string' as const, example: policies },
  },
  RateLimit: {
    description: 'The rest of each limit: `r` requests in the next `t` seconds',
    schema: { type: 'string' as const, example: states },
  },
});
