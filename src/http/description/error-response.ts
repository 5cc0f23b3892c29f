import { ApiProperty, getSchemaPath } from '@nestjs/swagger';
import type { DomainError } from '../../common';

/** Body of every error other than 422. */
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

export const bodyOf = ({ detail, code }: DomainError): ErrorResponse => ({ detail, code });

export const contentOf = (bodies: readonly ErrorResponse[]) => ({
  'application/json': {
    schema: { $ref: getSchemaPath(ErrorResponse) },
    examples: Object.fromEntries(bodies.map((body) => [body.detail, { value: body }])),
  },
});

export class ValidationError {
  @ApiProperty({
    type: 'array',
    items: { anyOf: [{ type: 'string' }, { type: 'integer' }] },
    title: 'Location',
  })
  readonly loc!: readonly (string | number)[];

  @ApiProperty({ type: 'string', title: 'Message' })
  readonly msg!: string;

  @ApiProperty({ type: 'string', title: 'Error Type' })
  readonly type!: string;

  @ApiProperty({
    anyOf: [
      { type: 'string' },
      { type: 'number' },
      { type: 'boolean' },
      { type: 'object', additionalProperties: true },
      { type: 'array', items: {} },
      { type: 'null' },
    ],
    title: 'Input',
    description: 'The rejected input, of any type',
    required: false,
  })
  readonly input?: unknown;

  @ApiProperty({
    type: 'object',
    additionalProperties: true,
    title: 'Context',
    description: 'The bound or pattern that the input violates',
    selfRequired: false,
  })
  readonly ctx?: Readonly<Record<string, unknown>>;
}

export class HTTPValidationError {
  @ApiProperty({ type: [ValidationError], title: 'Detail', required: false })
  readonly detail!: readonly ValidationError[];
}
