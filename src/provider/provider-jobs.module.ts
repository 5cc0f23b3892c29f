import { Injectable, Module, type OnApplicationBootstrap } from '@nestjs/common';
import { Jobs } from '../common';
import { AppConfig } from '../config';
import { ProviderModule } from './provider.module';
import { ProxyProvider } from './proxy-provider';

/** A mounted secret is changed in place, by a renamed file or by a link. Reading it sees all of them. */
const READ_KEY_EVERY_MS = 2000;

@Injectable()
class ProviderJobs implements OnApplicationBootstrap {
  constructor(
    private readonly jobs: Jobs,
    private readonly provider: ProxyProvider,
    private readonly config: AppConfig,
  ) {}

  onApplicationBootstrap(): void {
    if (this.config.provider.apiKeyFile === undefined) return;
    this.jobs.every('provider-key', READ_KEY_EVERY_MS, () => this.provider.followKey());
  }
}

/** The job that follows the file of the provider's key. */
@Module({ imports: [ProviderModule], providers: [ProviderJobs] })
export class ProviderJobsModule {}
