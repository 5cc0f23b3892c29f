import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Jobs } from '../../common';
import { AppConfig } from '../../config';
import { ExpiringService } from './expiring.service';

const INTERVAL_SECONDS = 60;
/** How often each replica checks whether that is due. */
const CHECK_MS = 6000;

@Injectable()
export class ExpiringJobs implements OnApplicationBootstrap {
  constructor(
    private readonly jobs: Jobs,
    private readonly config: AppConfig,
    private readonly expiring: ExpiringService,
  ) {}

  onApplicationBootstrap(): void {
    if (this.config.proxies.expiringHours.length === 0) return;
    this.jobs.every('expiring', CHECK_MS, () => this.expiring.announceWhenDue(INTERVAL_SECONDS));
  }
}
