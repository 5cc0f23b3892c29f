import { Controller, Get } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { Public } from '../auth';
import { DomainError } from '../common';
import { Readiness } from './readiness';

class NotReady extends DomainError {
  readonly kind = 'unavailable';
}

/** What load balancers and supervisors ask. docs/operations.md describes it. */
@ApiExcludeController()
@Controller('health')
export class ProbesController {
  constructor(private readonly readiness: Readiness) {}

  /** Whether the process serves requests; restarting it would help if it does not. */
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
