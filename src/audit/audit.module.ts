import { Module } from '@nestjs/common';
import { ProviderModule } from '../provider';
import { AuditService } from './audit.service';

@Module({ imports: [ProviderModule], providers: [AuditService], exports: [AuditService] })
export class AuditModule {}
