import { applyDecorators } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiProperty } from '@nestjs/swagger';

export class Health {
  @ApiProperty({ type: 'string', title: 'Status', required: false, default: 'ok', example: 'ok' })
  status!: string;
}

export const HealthDocs = () =>
  applyDecorators(
    ApiOperation({
      operationId: 'health_health_get',
      summary: 'Health',
      description: 'Whether the service can be reached.',
    }),
    ApiOkResponse({ description: 'Successful Response', type: Health }),
  );
