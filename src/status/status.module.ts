import { Module } from '@nestjs/common';
import { ProviderModule } from '../provider';
import { StatusService } from './status.service';

/** Reading alone, also for processes that serve nobody. */
@Module({ imports: [ProviderModule], providers: [StatusService], exports: [StatusService] })
export class StatusModule {}
