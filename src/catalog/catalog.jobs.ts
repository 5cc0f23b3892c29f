import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Jobs } from '../common';
import { CatalogService } from './catalog.service';

const FOLLOW_MS = 1000;
const REFRESH_MS = 1000;
const FORGET_MS = 60_000;

@Injectable()
export class CatalogJobs implements OnApplicationBootstrap {
  constructor(
    @Inject(Jobs) private readonly jobs: Jobs,
    @Inject(CatalogService) private readonly catalog: CatalogService,
  ) {}

  /** The first request is answered from what was known before the start. */
  async onApplicationBootstrap(): Promise<void> {
    await this.catalog.followOthers();
    this.jobs.every('follow-catalogue', FOLLOW_MS, () => this.catalog.followOthers());
    this.jobs.every('refresh-catalogue', REFRESH_MS, async () => this.catalog.refreshDue());
    this.jobs.every('forget-prices', FORGET_MS, () => this.catalog.forgetOldPrices());
  }
}
