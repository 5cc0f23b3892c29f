import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ActiveFlagsService } from './active-flags.service';
import { ProxiesController } from './proxies.controller';
import { ProxyJobs } from './proxies.jobs';
import { ProxiesService } from './proxies.service';
import { ProxyFilesService } from './proxy-files.service';
import { ProxyListsService } from './proxy-lists.service';
import { ProxyStatesService } from './proxy-states.service';
import { Proxy } from './proxy.entity';

@Module({
  imports: [TypeOrmModule.forFeature([Proxy])],
  controllers: [ProxiesController],
  providers: [
    ProxiesService,
    ProxyFilesService,
    ProxyListsService,
    ProxyStatesService,
    ActiveFlagsService,
    ProxyJobs,
  ],
  exports: [ProxiesService, ActiveFlagsService],
})
export class ProxiesModule {}
