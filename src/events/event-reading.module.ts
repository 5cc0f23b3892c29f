import { Module } from '@nestjs/common';
import { AuthModule } from '../auth';
import { EventsModule } from './events.module';
import { ExpiringJobs } from './expiring/expiring.jobs';
import { ExpiringService } from './expiring/expiring.service';
import { EventPages } from './reading/event-pages';
import { EventReadingService } from './reading/event-reading.service';
import { EventRetention } from './reading/event-retention';
import { EventWaits } from './reading/event-waits';
import { EventsController } from './reading/events.controller';
import { EventSettingsController } from './settings/event-settings.controller';
import { EventSettingsService } from './settings/event-settings.service';

/** How customers read their events, for how long these are kept, and the announcements of ends. */
@Module({
  imports: [EventsModule, AuthModule],
  controllers: [EventSettingsController, EventsController],
  providers: [
    EventPages,
    EventReadingService,
    EventRetention,
    EventSettingsService,
    EventWaits,
    ExpiringJobs,
    ExpiringService,
  ],
  exports: [EventWaits, ExpiringService],
})
export class EventReadingModule {}
