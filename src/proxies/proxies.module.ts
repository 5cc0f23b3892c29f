import { Module } from '@nestjs/common';
import { AppConfig } from '../config';
import { Work } from '../work';
import { ActiveFlagsService } from './active-flags.service';
import { ProxyDetailsController } from './details/proxy-details.controller';
import { ProxyHistoryService } from './details/proxy-history.service';
import { ExpiringService } from './expiring/expiring.service';
import { ProxyExportService } from './export/proxy-export.service';
import { PROXY_FILE_CONTROLLERS } from './export/proxy-files.controller';
import { LabelsService } from './labels/labels.service';
import { ListRevisionService } from './list-revision.service';
import { ProxyPingsController } from './pings/proxy-pings.controller';
import { ProxyPings } from './pings/proxy-pings.service';
import { ProxiesController } from './proxies.controller';
import { ProxiesService } from './proxies.service';
import { ProxyPagesService } from './proxy-pages.service';
import { SelectionsService } from './selection/selections.service';

/** The flags only copy `date_end` for lists, so a minute's delay is harmless. */
const REFRESH_FLAGS_SECONDS = 60;
const ANNOUNCE_SECONDS = 60;

@Module({
  controllers: [ProxiesController, ProxyPingsController, ProxyDetailsController, ...PROXY_FILE_CONTROLLERS],
  providers: [
    ProxiesService,
    ProxyExportService,
    ProxyPagesService,
    ProxyHistoryService,
    LabelsService,
    ProxyPings,
    ListRevisionService,
    SelectionsService,
    ActiveFlagsService,
    ExpiringService,
  ],
  exports: [ProxiesService, ProxyExportService, ListRevisionService, SelectionsService],
})
export class ProxiesModule {
  constructor(
    work: Work,
    { proxies, tuning }: AppConfig,
    activeFlags: ActiveFlagsService,
    expiring: ExpiringService,
  ) {
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
