import { Module } from '@nestjs/common';
import { ProviderModule } from '../provider';
import { IntegrityService } from './integrity.service';

@Module({ imports: [ProviderModule], providers: [IntegrityService], exports: [IntegrityService] })
export class IntegrityModule {}
