import { Module } from '@nestjs/common';
import { AuthModule } from '../auth';
import { LedgerModule } from '../ledger';
import { PublishedEvents } from './published-events';
import { Publisher } from './publisher';
import { EventPages } from './reading/event-pages';
import { EventReadingService } from './reading/event-reading.service';
import { EventRetention } from './reading/event-retention';
import { EventWaits } from './reading/event-waits';
import { EventsController } from './reading/events.controller';
import { EventSettingsController } from './settings/event-settings.controller';

/** Publishes events, serves them to customers, and removes old ones. */
@Module({
  imports: [AuthModule, LedgerModule],
  controllers: [EventSettingsController, EventsController],
  providers: [PublishedEvents, Publisher, EventPages, EventReadingService, EventRetention, EventWaits],
  exports: [EventWaits, PublishedEvents],
})
export class EventsModule {}
