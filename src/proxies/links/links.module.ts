import { Module } from '@nestjs/common';
import { LimitsModule } from '../../http';
import { ProxiesModule } from '../proxies.module';
import { LinkUses } from './link-uses.service';
import { LinksRetention } from './links-retention';
import { LinksController } from './links.controller';
import { LinksJobs } from './links.jobs';
import { LinksService } from './links.service';
import { SecretLinksController } from './secret-links.controller';

@Module({
  imports: [LimitsModule, ProxiesModule],
  controllers: [LinksController, SecretLinksController],
  providers: [LinksService, LinkUses, LinksRetention, LinksJobs],
})
export class LinksModule {}
