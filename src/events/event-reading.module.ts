import { Module } from '@nestjs/common';
import { AuthModule } from '../auth';
import { LedgerModule } from '../ledger';
import { EventsModule } from './events.module';
import { EventPages } from './reading/event-pages';
import { EventReadingService } from './reading/event-reading.service';
import { EventRetention } from './reading/event-retention';
import { EventWaits } from './reading/event-waits';
import { EventsController } from './reading/events.controller';
import { EventSettingsController } from './settings/event-settings.controller';
import { EventSettingsService } from './settings/event-settings.service';

/** How customers read their events, and for how long these are kept. */
@Module({
  imports: [EventsModule, AuthModule, LedgerModule],
  controllers: [EventSettingsController, EventsController],
  providers: [EventPages, EventReadingService, EventRetention, EventSettingsService, EventWaits],
  exports: [EventWaits],
})
export class EventReadingModule {}
