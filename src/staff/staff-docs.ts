import { applyDecorators, type Type } from '@nestjs/common';
import { ApiBody, ApiOperation, ApiResponse, type ApiResponseNoStatusOptions } from '@nestjs/swagger';
import { ApiErrorResponse, ApiIdempotencyKey, ApiValidationErrorResponse, REPLAYED_HEADER } from '../http';

type InvalidRequest = Parameters<typeof ApiValidationErrorResponse>[0];
type ErrorTexts = readonly [description: string, ...details: readonly string[]];

interface StaffRouteDocs {
  readonly summary: string;
  /** Begins with who uses the route, and for what. */
  readonly description: string;
  /** The body of the request, with its examples by name. */
  readonly body?: readonly [type: Type<object>, examples: Readonly<Record<string, object>>];
  /** Whether the route takes an Idempotency-Key, and refuses requests without one. */
  readonly idempotencyKey?: 'optional' | 'required';
  readonly answer: ApiResponseNoStatusOptions;
  /** 200 when left out. */
  readonly status?: 201;
  /** The errors beside 401, 403 and 422, by status. */
  readonly errors?: Readonly<Record<number, ErrorTexts>>;
  /** An example of what is refused with 422; left out: a query on a route that takes none. */
  readonly invalid?: InvalidRequest;
}

/**
 * Everything that the description says of a route beside what {@link StaffRoute} says. It stands above that.
 */
export function StaffDocs(docs: StaffRouteDocs): MethodDecorator {
  const { summary, description, body, idempotencyKey, answer, status = 200, errors = {} } = docs;
  const headers = idempotencyKey && { headers: REPLAYED_HEADER };
  return applyDecorators(
    ApiOperation({ summary, description }),
    ApiResponse({ status, ...answer, ...headers }),
    ...Object.entries(errors).map(([code, texts]) => ApiErrorResponse(Number(code), ...texts)),
    ...(body ? [ApiBody({ type: body[0], examples: toExamples(body[1]) })] : []),
    ...(idempotencyKey ? [ApiStaffIdempotencyKey(idempotencyKey)] : []),
    ApiValidationErrorResponse(docs.invalid ?? UNKNOWN_PARAMETER),
  );
}

const UNKNOWN_PARAMETER: InvalidRequest = {
  type: 'extra_forbidden',
  loc: ['query', 'page'],
  msg: 'Extra inputs are not permitted',
  input: '2',
};

const toExamples = (values: Readonly<Record<string, object>>) =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, { value }]));

const ApiStaffIdempotencyKey = (presence: 'optional' | 'required') =>
  ApiIdempotencyKey({
    required: presence === 'required',
    description:
      'Makes it safe to repeat the request. Keys are your own: a request with the same key is carried out ' +
      'once, and every repetition is answered with the same body and `Idempotency-Replayed: true`. Repeat ' +
      'on 5xx and lost connections.',
    example: 'ticket-817',
  });

/** The texts of a 400 answer to a search of a period. */
export const INVALID_PERIOD: ErrorTexts = [
  'The period is not possible',
  'The period must end after it begins',
];

/** The texts of a 404 answer: `There is no such user`, `User not found`. */
export function notFound(...entities: readonly string[]): ErrorTexts {
  const details = entities.map((entity) => `${entity.charAt(0).toUpperCase()}${entity.slice(1)} not found`);
  return [`There is no such ${entities.join(', or no such ')}`, ...details];
}

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
