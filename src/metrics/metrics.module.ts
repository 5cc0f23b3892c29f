import { Module } from '@nestjs/common';
import { MetricsServer } from './metrics-server';

/** For processes that serve requests. The command line measures nothing. */
@Module({ providers: [MetricsServer] })
export class MetricsModule {}
