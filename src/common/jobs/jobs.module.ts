import { Global, Module } from '@nestjs/common';
import { ScheduleModule } from '@nestjs/schedule';
import { Jobs } from './jobs';

/** For processes that serve requests. The command line runs no jobs. */
@Global()
@Module({ imports: [ScheduleModule.forRoot()], providers: [Jobs], exports: [Jobs] })
export class JobsModule {}
