import { Module } from '@nestjs/common';
import { AppConfig } from '../config';
import { Retention, Jobs } from '../jobs';
import { ActiveFlagsService } from './active-flags.service';
import { BulkTargetsService } from './bulk-target/bulk-targets.service';
import { EchoEndpoint } from './checks/echo-endpoint';
import { EchoController } from './checks/echo.controller';
import { ProxyChecksController } from './checks/proxy-checks.controller';
import { ProxyChecksService } from './checks/proxy-checks.service';
import { ProxyDetailsController } from './details/proxy-details.controller';
import { ProxyHistoryService } from './details/proxy-history.service';
import { ExpiryReminders } from './expiring/expiry-reminders';
import { ProxyExportService } from './export/proxy-export.service';
import { PROXY_FILE_CONTROLLERS } from './export/proxy-files.controller';
import { LabelsService } from './labels/labels.service';
import { LinkUses } from './links/link-uses';
import { LinksController } from './links/links.controller';
import { LinksService } from './links/links.service';
import { SecretLinksController } from './links/secret-links.controller';
import { ListRevisionService } from './list-revision.service';
import { ProxyPings } from './pings/proxy-pings';
import { ProxyPingsController } from './pings/proxy-pings.controller';
import { ProxiesController } from './proxies.controller';
import { ProxiesService } from './proxies.service';

/** How often `active` flags are refreshed. A delay is harmless, because they only mirror `date_end`. */
const REFRESH_FLAGS_SECONDS = 60;
const REMIND_SECONDS = 60;
/** Maximum delay of a link's `last_used_at` and `uses`. */
const WRITE_USES_MS = 5000;
/** How long check results are kept. They matter only while a proxy is rented. */
const PROXY_CHECK_DAYS = 30;

@Module({
  controllers: [
    ProxiesController,
    ProxyPingsController,
    ProxyDetailsController,
    ...PROXY_FILE_CONTROLLERS,
    ProxyChecksController,
    EchoController,
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
    BulkTargetsService,
    ActiveFlagsService,
    ExpiryReminders,
    EchoEndpoint,
    ProxyChecksService,
    LinksService,
    LinkUses,
  ],
  exports: [
    ProxiesService,
    BulkTargetsService,
    LabelsService,
    ProxyChecksService,
    ProxyExportService,
    ListRevisionService,
  ],
})
export class ProxiesModule {
  constructor(
    jobs: Jobs,
    retention: Retention,
    { proxies, tuning }: AppConfig,
    activeFlags: ActiveFlagsService,
    reminders: ExpiryReminders,
    links: LinksService,
    uses: LinkUses,
  ) {
    jobs.every('link-uses', WRITE_USES_MS, () => uses.write());
    retention.add<number>('links', (cursor) => links.forgetExpired(cursor ?? 0));
    retention.addOldRows({
      name: 'proxy_checks',
      table: 'proxy_checks',
      time: 'checked_at',
      days: PROXY_CHECK_DAYS,
      removal: 'DELETE FROM proxy_checks WHERE id = ANY (ARRAY(SELECT id FROM old))',
    });
    jobs.run({
      name: 'active-flags',
      everySeconds: tuning.activeFlagsIntervalSeconds ?? REFRESH_FLAGS_SECONDS,
      execute: (run) => activeFlags.refresh(run),
    });
    if (proxies.expiringHours.length === 0) return;
    jobs.run({
      name: 'expiring',
      everySeconds: REMIND_SECONDS,
      execute: (run) => reminders.remind(run),
    });
  }
}
