import { Module } from '@nestjs/common';
import { EventsModule } from './events.module';
import { Publisher } from './publisher';

/** The job by which each replica publishes events. */
@Module({ imports: [EventsModule], providers: [Publisher] })
export class EventsJobsModule {}
