import { Controller, Get } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { Public } from '../auth';
import { DomainError } from '../common';
import { Readiness } from './readiness';

class NotReady extends DomainError {
  readonly kind = 'unavailable';
}

/** Probes for load balancers and supervisors, described in docs/operations.md. */
@ApiExcludeController()
@Controller('health')
export class ProbesController {
  constructor(private readonly readiness: Readiness) {}

  /** Whether the process serves requests; if not, restart it. */
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
