import { applyDecorators } from '@nestjs/common';
import {
  ApiExtraModels,
  ApiProperty,
  ApiResponse,
  type ApiResponseNoStatusOptions,
  getSchemaPath,
} from '@nestjs/swagger';
import { HTTPValidationError } from './http-validation-error';

/** The body of every error except 422. */
export class ErrorResponse {
  @ApiProperty({ type: 'string', title: 'Detail' })
  detail!: string;
}

/** What the description says of an error of a route: when it is answered, and its texts. */
export type ErrorTexts = readonly [description: string, ...details: readonly string[]];

/** Describes an error of a route, with an example for each of its texts. */
export function ApiErrorResponse(status: number, ...texts: ErrorTexts) {
  return ApiErrorWithHeaders(status, undefined, ...texts);
}

/** As {@link ApiErrorResponse}, with the headers that the answer may have. */
export function ApiErrorWithHeaders(
  status: number,
  headers: ApiResponseNoStatusOptions['headers'],
  ...[description, ...details]: ErrorTexts
) {
  return applyDecorators(
    ApiExtraModels(ErrorResponse),
    ApiResponse({
      status,
      description,
      ...(headers && { headers }),
      content: {
        'application/json': {
          schema: { $ref: getSchemaPath(ErrorResponse) },
          examples: Object.fromEntries(details.map((detail) => [detail, { value: { detail } }])),
        },
      },
    }),
  );
}

const rateLimitHeaders = (policies: string, states: string) => ({
  'Retry-After': {
    description: 'Seconds until the next minute begins',
    schema: { type: 'integer' as const, minimum: 1, example: 17 },
  },
  'RateLimit-Policy': {
    description: 'The limits: `q` requests in `w` seconds',
    schema: { type: 'string' as const, example: policies },
  },
  RateLimit: {
    description: 'What is left of each: `r` requests in the next `t` seconds',
    schema: { type: 'string' as const, example: states },
  },
});

const OF_TOKENS = {
  description: 'The token or the user has made too many requests in this minute',
  policies: '"token";q=120000;w=60, "user";q=240000;w=60',
  states: '"token";r=0;t=17, "user";r=84000;t=17',
};

/** Describes the answer to a request above a limit, by default above one of its token or user. */
export function ApiTooManyRequests({ description, policies, states } = OF_TOKENS) {
  return applyDecorators(
    ApiExtraModels(ErrorResponse),
    ApiResponse({
      status: 429,
      description,
      headers: rateLimitHeaders(policies, states),
      content: {
        'application/json': {
          schema: { $ref: getSchemaPath(ErrorResponse) },
          examples: { 'Too many requests': { value: { detail: 'Too many requests' } } },
        },
      },
    }),
  );
}

/** An example of what a route refuses with 422. */
export interface InvalidRequest {
  readonly loc: readonly (string | number)[];
  readonly msg: string;
  readonly type: string;
  readonly input: unknown;
  readonly ctx?: object;
}

/** Describes the 422 answer of a route by an example. */
export function ApiValidationErrorResponse(example: InvalidRequest) {
  return applyDecorators(
    ApiExtraModels(HTTPValidationError),
    ApiResponse({
      status: 422,
      description: 'Validation Error',
      content: {
        'application/json': {
          schema: { $ref: getSchemaPath(HTTPValidationError) },
          example: { detail: [example] },
        },
      },
    }),
  );
}

/** The texts of a 400 answer to a search of a period. */
export const INVALID_PERIOD: ErrorTexts = [
  'The period is not possible',
  'The period must end after it begins',
];

/** The 422 example of a field that is missing. */
export const missing = (place: 'body' | 'query' | 'header', ...names: readonly string[]): InvalidRequest => ({
  type: 'missing',
  loc: [place, ...names],
  msg: 'Field required',
  input: place === 'body' ? {} : null,
});

/** The 422 example of an id that is not a number. */
export const notAnInteger = (name: string, input: string): InvalidRequest => ({
  type: 'int_parsing',
  loc: ['path', name],
  msg: 'Input should be a valid integer, unable to parse string as an integer',
  input,
});

/** The 422 example of a query parameter that is none of a few words. */
export const notOneOf = (name: string, pattern: string, input: string): InvalidRequest => ({
  type: 'string_pattern_mismatch',
  loc: ['query', name],
  msg: `String should match pattern '${pattern}'`,
  input,
  ctx: { pattern },
});
