import { Module } from '@nestjs/common';
import { LimitsModule } from '../limits';
import { ProxiesModule } from '../proxies';
import { EndedLinksService } from './ended-links.service';
import { LinkUses } from './link-uses.service';
import { LinksController } from './links.controller';
import { LinksJobs } from './links.jobs';
import { LinksService } from './links.service';
import { SecretLinksController } from './secret-links.controller';

@Module({
  imports: [LimitsModule, ProxiesModule],
  controllers: [LinksController, SecretLinksController],
  providers: [LinksService, LinkUses, EndedLinksService, LinksJobs],
})
export class LinksModule {}
