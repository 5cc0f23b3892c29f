import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ActiveFlagsService } from './active-flags.service';
import { ProxyExportService } from './export/proxy-export.service';
import { ListRevisionService } from './list-revision.service';
import { ProxiesController } from './proxies.controller';
import { ProxyJobs } from './proxies.jobs';
import { ProxiesService } from './proxies.service';
import { Proxy } from './proxy.entity';

@Module({
  imports: [TypeOrmModule.forFeature([Proxy])],
  controllers: [ProxiesController],
  providers: [ProxiesService, ProxyExportService, ListRevisionService, ActiveFlagsService, ProxyJobs],
  exports: [ProxiesService, ProxyExportService, ListRevisionService, ActiveFlagsService],
})
export class ProxiesModule {}
