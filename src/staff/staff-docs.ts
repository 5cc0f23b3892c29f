import { applyDecorators, type Type } from '@nestjs/common';
import { ApiBody, ApiOperation, ApiResponse, type ApiResponseNoStatusOptions } from '@nestjs/swagger';
import {
  ApiErrorResponse,
  ApiIdempotencyKey,
  ApiValidationErrorResponse,
  type ErrorTexts,
  type InvalidRequest,
  REPLAYED_HEADER,
} from '../http';

interface StaffRouteDocs {
  readonly summary: string;
  /** Begins with who uses the route, and for what. */
  readonly description: string;
  readonly body?: Type<object>;
  /**
   * Examples of the body by name, for a route that changes nothing. Swagger UI fills in the first one, and a
   * change is not to be sent by haste.
   */
  readonly examples?: Readonly<Record<string, object>>;
  /** Whether the route requires an Idempotency-Key. */
  readonly idempotencyKey?: true;
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
  const { summary, description, body, examples, idempotencyKey, answer, status = 200 } = docs;
  const { errors = {}, invalid = UNKNOWN_PARAMETER } = docs;
  const headers = idempotencyKey && { headers: REPLAYED_HEADER };
  return applyDecorators(
    ApiOperation({ summary, description }),
    ApiResponse({ status, ...answer, ...headers }),
    ...Object.entries(errors).map(([code, texts]) => ApiErrorResponse(Number(code), ...texts)),
    ...(body ? [ApiBody({ type: body, ...(examples && { examples: toExamples(examples) }) })] : []),
    ...(idempotencyKey ? [ApiStaffIdempotencyKey()] : []),
    ApiValidationErrorResponse(invalid),
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

// Without an example: a second posting under a key that is filled in already would be taken for a repetition.
const ApiStaffIdempotencyKey = () =>
  ApiIdempotencyKey({
    required: true,
    description:
      'Makes it safe to repeat the request. Keys are your own, and a new one for each posting: a request ' +
      'with the same key is carried out once. Every repetition is answered with the same entry, ' +
      '`"replayed": true` and `Idempotency-Replayed: true`. Repeat on 5xx and lost connections.',
  });

/** The texts of a 403 answer: those that every route has, and its own. */
export const forbidden = (description: string, ...details: readonly string[]): ErrorTexts => [
  `The token lacks the scope, or ${description}`,
  'Not enough permissions',
  'Address not allowed',
  'User is blocked',
  ...details,
];

/** The 403 answer of a route by which nobody serves themselves. */
export const NOT_FOR_ONESELF = forbidden(
  'it is your own account that would change',
  'Staff cannot do this for themselves: ask a colleague',
);

/** The texts of a 404 answer: `There is no such user`, `User not found`. */
export function notFound(...entities: readonly string[]): ErrorTexts {
  const details = entities.map((entity) => `${entity.charAt(0).toUpperCase()}${entity.slice(1)} not found`);
  return [`There is no such ${entities.join(', or no such ')}`, ...details];
}
