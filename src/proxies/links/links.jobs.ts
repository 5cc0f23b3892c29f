import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Jobs } from '../../common';
import { LinkUses } from './link-uses.service';

/** How long `last_used_at` and `uses` may lag behind. */
const WRITE_USES_MS = 5000;

@Injectable()
export class LinksJobs implements OnApplicationBootstrap {
  constructor(
    private readonly jobs: Jobs,
    private readonly uses: LinkUses,
  ) {}

  onApplicationBootstrap(): void {
    this.jobs.every('link-uses', WRITE_USES_MS, () => this.uses.write());
  }
}
