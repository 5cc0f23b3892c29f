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
import type { ValidationItem } from '../validation/refusal';
import { hasInput, inputOf } from '../validation/route-input';
import { bodyOf, contentOf, ErrorResponse, HTTPValidationError } from './error-response';
import { ApiIdempotencyKey, type IdempotencyKeyOptions, REPLAYED_HEADER } from './idempotency-key';
import { refusedExample } from './refused-example';

/**
 * When an error is returned, and the errors: a class if its text never varies, or an instance as an example.
 * Only errors that are not domain errors are given as text.
 */
export type ErrorsOfStatus = readonly [
  when: string,
  ...errors: readonly (DomainError | (new () => DomainError) | string)[],
];

type Headers = NonNullable<ApiResponseNoStatusOptions['headers']>;

export interface RouteDescription {
  /** The name of the operation in generated clients; by default, that of the handler. */
  readonly operationId?: string;
  readonly summary: string;
  readonly description: string;
  /** 200 by default. */
  readonly status?: 201 | 202 | 204;
  /** A DTO without options is described as the specification describes its responses. */
  readonly response: ApiResponseNoStatusOptions | Type<object>;
  /** For a body with examples. Without them, the type of the parameter describes the body. */
  readonly body?: ApiBodyOptions;
  readonly idempotencyKey?: IdempotencyKeyOptions;
  /** The errors of the use case, by status. */
  readonly errors?: Readonly<Record<number, ErrorsOfStatus>>;
  /** The headers that errors may have, by status. */
  readonly errorHeaders?: Readonly<Record<number, Headers>>;
  /** An example of a 422 that the specification describes although nothing is refused. */
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

/** The body that the error filter returns with this status. */
function exampleOf(described: ErrorsOfStatus[number], status: number): ErrorResponse {
  if (typeof described === 'string') return { detail: described };
  const error = described instanceof DomainError ? described : new described();
  if (statusOf(error) === status) return bodyOf(error);
  throw new Error(`${error.name} is described with ${status}, and returned with ${statusOf(error)}`);
}

/** The decorators of parameters come before those of their method, so that the input is known here. */
const describeInvalid =
  (given?: ValidationItem): MethodDecorator =>
  (route, handler, descriptor) => {
    const input = inputOf(route.constructor as Type, String(handler));
    if (!given && !hasInput(input)) return;
    const content = {
      schema: { $ref: getSchemaPath(HTTPValidationError) },
      // The description alone needs it: for all routes it takes 50 ms, which each start would wait for.
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

/** The headers of a response to a request above a limit. */
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
