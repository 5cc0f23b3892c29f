import { Controller, Get } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { Public } from '../auth';
import { DomainError } from '../common';
import { Readiness } from './readiness';

class NotReady extends DomainError {
  readonly kind = 'unavailable';
}

@ApiExcludeController()
@Controller('health')
export class ProbesController {
  constructor(private readonly readiness: Readiness) {}

  /** If this probe gets no response, restart the process. */
  @Get('live')
  @Public()
  live(): { status: string } {
    return { status: 'live' };
  }

  /** @throws NotReady */
  @Get('ready')
  @Public()
  async ready(): Promise<{ status: string }> {
    const obstacle = await this.readiness.obstacle();
    if (obstacle !== undefined) throw new NotReady(obstacle);
    return { status: 'ready' };
  }
}
