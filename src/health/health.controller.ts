import { Controller, Get } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiProperty, ApiTags } from '@nestjs/swagger';
import { Public } from '../auth';

export class Health {
  @ApiProperty({ type: 'string', title: 'Status', required: false, default: 'ok', example: 'ok' })
  status!: string;
}

@ApiTags('Health')
@Controller()
export class HealthController {
  @Get('health')
  @Public()
  @ApiOperation({
    operationId: 'health_health_get',
    summary: 'Health',
    description: 'Whether the service can be reached.',
  })
  @ApiOkResponse({ description: 'Successful Response', type: Health })
  health(): Health {
    return { status: 'ok' };
  }
}
