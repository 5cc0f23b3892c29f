import { Module } from '@nestjs/common';
import { SalesService } from './sales.service';

/** Without jobs, so that the command line can use it. */
@Module({ providers: [SalesService], exports: [SalesService] })
export class SalesModule {}
