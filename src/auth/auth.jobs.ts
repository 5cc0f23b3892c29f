import { Injectable, Module, type OnApplicationBootstrap } from '@nestjs/common';
import { Jobs } from '../common';
import { AuthModule } from './auth.module';
import { TokensService } from './tokens.service';

const FOLLOW_MS = 250;

/** Not on the command line, whose processes end before a token would be remembered. */
@Injectable()
export class AuthJobs implements OnApplicationBootstrap {
  constructor(
    private readonly jobs: Jobs,
    private readonly tokens: TokensService,
  ) {}

  onApplicationBootstrap(): void {
    this.jobs.every('follow-tokens', FOLLOW_MS, () => this.tokens.followChanges());
  }
}

@Module({ imports: [AuthModule], providers: [AuthJobs] })
export class AuthJobsModule {}
