import { Controller, Get } from '@nestjs/common';
import { ApiProperty, ApiTags } from '@nestjs/swagger';
import { Public, Route } from '../auth';

export class Health {
  @ApiProperty({ type: 'string', title: 'Status', required: false, default: 'ok', example: 'ok' })
  status!: string;
}

@ApiTags('Health')
@Controller()
export class HealthController {
  @Get('health')
  @Public()
  @Route({
    operationId: 'health_health_get',
    summary: 'Health',
    description: 'Whether the service can be reached.',
    response: Health,
  })
  health(): Health {
    return { status: 'ok' };
  }
}
