import { applyDecorators } from '@nestjs/common';
import { ApiExtraModels, ApiProperty, ApiResponse, getSchemaPath } from '@nestjs/swagger';
import { HTTPValidationError } from './http-validation-error';

/** The body of every error except 422. */
export class ErrorResponse {
  @ApiProperty({ type: 'string', title: 'Detail' })
  detail!: string;
}

/** Describes an error of a route, with an example for each of its texts. */
export function ApiErrorResponse(status: number, description: string, ...details: readonly string[]) {
  return applyDecorators(
    ApiExtraModels(ErrorResponse),
    ApiResponse({
      status,
      description,
      content: {
        'application/json': {
          schema: { $ref: getSchemaPath(ErrorResponse) },
          examples: Object.fromEntries(details.map((detail) => [detail, { value: { detail } }])),
        },
      },
    }),
  );
}

/** Describes the 422 answer of a route by an example. */
export function ApiValidationErrorResponse(example: {
  loc: readonly string[];
  msg: string;
  type: string;
  input: unknown;
  ctx?: object;
}) {
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
