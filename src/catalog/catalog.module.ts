import { Module } from '@nestjs/common';
import { ProviderModule } from '../provider';
import { CatalogController } from './catalog.controller';
import { CatalogJobs } from './catalog.jobs';
import { CatalogService } from './catalog.service';
import { SharedCopies } from './shared-copies';

@Module({
  imports: [ProviderModule],
  controllers: [CatalogController],
  providers: [CatalogService, CatalogJobs, SharedCopies],
  exports: [CatalogService],
})
export class CatalogModule {}
