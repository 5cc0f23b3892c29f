import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Jobs } from '../common';
import { EndedLinksService } from './ended-links.service';
import { LinkUses } from './link-uses.service';

/** How long `last_used_at` and `uses` may lag behind. */
const WRITE_USES_MS = 5000;

const REMOVE_SECONDS = 3600;
/** How often each replica checks whether that is due. */
const CHECK_MS = 60_000;

@Injectable()
export class LinksJobs implements OnApplicationBootstrap {
  constructor(
    private readonly jobs: Jobs,
    private readonly uses: LinkUses,
    private readonly ended: EndedLinksService,
  ) {}

  onApplicationBootstrap(): void {
    this.jobs.every('link-uses', WRITE_USES_MS, () => this.uses.write());
    this.jobs.every('ended-links', CHECK_MS, () => this.ended.removeWhenDue(REMOVE_SECONDS));
  }
}
