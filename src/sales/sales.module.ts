import { Module } from '@nestjs/common';
import { SalesService } from './sales.service';

/** Reading alone, also for processes that serve nobody. */
@Module({ providers: [SalesService], exports: [SalesService] })
export class SalesModule {}
