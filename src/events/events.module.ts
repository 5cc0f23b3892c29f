import { Module } from '@nestjs/common';
import { AuthModule } from '../auth';
import { AppConfig } from '../config';
import { Retention } from '../jobs';
import { LedgerModule } from '../ledger';
import { EventPublisher } from './event-publisher';
import { EventPageReader, REMOVED_EVENTS } from './reading/event-page-reader';
import { EventReadingService } from './reading/event-reading.service';
import { EventsController } from './reading/events.controller';
import { EventSettingsController } from './settings/event-settings.controller';

@Module({
  imports: [AuthModule, LedgerModule],
  controllers: [EventSettingsController, EventsController],
  providers: [EventPublisher, EventPageReader, EventReadingService],
})
export class EventsModule {
  constructor(retention: Retention, { retention: { eventDays } }: AppConfig) {
    // Deletes events in the order of their positions, as cursors require, and keeps unpublished events.
    retention.addOldRows({
      name: REMOVED_EVENTS,
      table: 'events',
      key: 'position',
      time: 'at',
      days: eventDays,
      removal: 'DELETE FROM events WHERE position = ANY (ARRAY(SELECT id FROM old))',
    });
  }
}
