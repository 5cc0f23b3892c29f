import { Module } from '@nestjs/common';
import { ProviderModule } from '../provider';
import { AuditRuns } from './audit-runs';
import { IntegrityService } from './integrity.service';

@Module({
  imports: [ProviderModule],
  providers: [IntegrityService, AuditRuns],
  exports: [IntegrityService],
})
export class IntegrityModule {}
