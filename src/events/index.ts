export {
  ALL_EVENT_TYPES,
  EVENT_TYPES,
  eventIdOf,
  isEventType,
  offeredEventTypes,
  type EventOut,
  type EventType,
  type EventTypeDefinition,
  positionOf,
  toEventOut,
} from './event-types';
export { EventsModule } from './events.module';
export { PublishedEvents } from './published-events';
export { EventReadingService } from './reading/event-reading.service';
export { EventDto } from './reading/events.dto';
export { EventWaits } from './reading/event-waits';
