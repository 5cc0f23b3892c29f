import { ApiProperty, getSchemaPath } from '@nestjs/swagger';
import type { DomainError } from '../../common';

/** The body of every error except 422. */
export class ErrorResponse {
  @ApiProperty({ type: 'string', title: 'Detail' })
  detail!: string;

  @ApiProperty({
    type: 'string',
    description: 'The stable name of the error. Routes of the specified interface omit it',
    required: false,
  })
  code?: string;
}

/** Examples of specified routes lose the code later. */
export const bodyOf = ({ detail, code }: DomainError): ErrorResponse => ({ detail, code });

/** The described content of a response with one of these bodies. */
export const contentOf = (bodies: readonly ErrorResponse[]) => ({
  'application/json': {
    schema: { $ref: getSchemaPath(ErrorResponse) },
    examples: Object.fromEntries(bodies.map((body) => [body.detail, { value: body }])),
  },
});
