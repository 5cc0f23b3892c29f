import { Module } from '@nestjs/common';
import { AppConfig } from '../config';
import { Retention, Work } from '../work';
import { ActiveFlagsService } from './active-flags.service';
import { ProxyDetailsController } from './details/proxy-details.controller';
import { ProxyHistoryService } from './details/proxy-history.service';
import { ExpiringService } from './expiring/expiring.service';
import { ProxyExportService } from './export/proxy-export.service';
import { PROXY_FILE_CONTROLLERS } from './export/proxy-files.controller';
import { LabelsService } from './labels/labels.service';
import { LinkUses } from './links/link-uses.service';
import { LinksController } from './links/links.controller';
import { LinksService } from './links/links.service';
import { SecretLinksController } from './links/secret-links.controller';
import { ListRevisionService } from './list-revision.service';
import { ProxyPingsController } from './pings/proxy-pings.controller';
import { ProxyPings } from './pings/proxy-pings.service';
import { ProxiesController } from './proxies.controller';
import { ProxiesService } from './proxies.service';
import { SelectionsService } from './selection/selections.service';
import { Judge } from './trials/judge';
import { JudgeController } from './trials/judge.controller';
import { TrialsController } from './trials/trials.controller';
import { TrialsService } from './trials/trials.service';

/** The flags only copy `date_end` for lists, so a minute's delay is harmless. */
const REFRESH_FLAGS_SECONDS = 60;
const ANNOUNCE_SECONDS = 60;
/** How long `last_used_at` and `uses` of links may lag behind. */
const WRITE_USES_MS = 5000;
/** Results of checks matter only while a proxy is rented, and many are checked every few minutes. */
const TRIAL_DAYS = 30;

@Module({
  controllers: [
    ProxiesController,
    ProxyPingsController,
    ProxyDetailsController,
    ...PROXY_FILE_CONTROLLERS,
    TrialsController,
    JudgeController,
    LinksController,
    SecretLinksController,
  ],
  providers: [
    ProxiesService,
    ProxyExportService,
    ProxyHistoryService,
    LabelsService,
    ProxyPings,
    ListRevisionService,
    SelectionsService,
    ActiveFlagsService,
    ExpiringService,
    Judge,
    TrialsService,
    LinksService,
    LinkUses,
  ],
  exports: [ProxiesService, SelectionsService],
})
export class ProxiesModule {
  constructor(
    work: Work,
    retention: Retention,
    { proxies, tuning }: AppConfig,
    activeFlags: ActiveFlagsService,
    expiring: ExpiringService,
    links: LinksService,
    uses: LinkUses,
  ) {
    work.every('link-uses', WRITE_USES_MS, () => uses.write());
    retention.add<number>('links', (place) => links.forgetEnded(place ?? 0));
    retention.addOldRows({
      name: 'trials',
      table: 'proxy_trials',
      time: 'tried_at',
      days: TRIAL_DAYS,
      removal: 'DELETE FROM proxy_trials WHERE id = ANY (ARRAY(SELECT id FROM old))',
    });
    work.run({
      name: 'active-flags',
      everySeconds: tuning.activeFlagsIntervalSeconds ?? REFRESH_FLAGS_SECONDS,
      execute: (run) => activeFlags.refresh(run),
    });
    if (proxies.expiringHours.length === 0) return;
    work.run({
      name: 'expiring',
      everySeconds: ANNOUNCE_SECONDS,
      execute: (run) => expiring.announce(run),
    });
  }
}
