import { Controller, Get } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Public } from '../auth';
import { type Health, HealthDocs } from './health.docs';

@ApiTags('Health')
@Controller()
export class HealthController {
  @Get('health')
  @Public()
  @HealthDocs()
  health(): Health {
    return { status: 'ok' };
  }
}
