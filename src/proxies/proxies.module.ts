import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ActiveFlagsService } from './active-flags.service';
import { ProxyDetailsController } from './details/proxy-details.controller';
import { ProxyHistoryService } from './details/proxy-history.service';
import { ExpiringJobs } from './expiring/expiring.jobs';
import { ExpiringService } from './expiring/expiring.service';
import { ProxyExportService } from './export/proxy-export.service';
import { PROXY_FILE_CONTROLLERS } from './export/proxy-files.controller';
import { LabelsService } from './labels/labels.service';
import { ListRevisionService } from './list-revision.service';
import { ProxyPingsController } from './pings/proxy-pings.controller';
import { ProxyPings } from './pings/proxy-pings.service';
import { ProxiesController } from './proxies.controller';
import { ProxyJobs } from './proxies.jobs';
import { ProxiesService } from './proxies.service';
import { ProxyPagesService } from './proxy-pages.service';
import { Proxy } from './proxy.entity';
import { SelectionsService } from './selection/selections.service';

@Module({
  imports: [TypeOrmModule.forFeature([Proxy])],
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
    ProxyJobs,
    ExpiringService,
    ExpiringJobs,
  ],
  exports: [
    ProxiesService,
    ProxyExportService,
    ListRevisionService,
    SelectionsService,
    ActiveFlagsService,
    ExpiringService,
  ],
})
export class ProxiesModule {}
