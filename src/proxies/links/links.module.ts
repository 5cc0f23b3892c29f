import { Module } from '@nestjs/common';
import { Work } from '../../work';
import { ProxiesModule } from '../proxies.module';
import { LinkUses } from './link-uses.service';
import { LinksRetention } from './links-retention';
import { LinksController } from './links.controller';
import { LinksService } from './links.service';
import { SecretLinksController } from './secret-links.controller';

/** How long `last_used_at` and `uses` may lag behind. */
const WRITE_USES_MS = 5000;

@Module({
  imports: [ProxiesModule],
  controllers: [LinksController, SecretLinksController],
  providers: [LinksService, LinkUses, LinksRetention],
})
export class LinksModule {
  constructor(work: Work, uses: LinkUses) {
    work.every('link-uses', WRITE_USES_MS, () => uses.write());
  }
}
