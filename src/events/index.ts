export {
  ALL_EVENT_TYPES,
  EVENT_ID_PATTERN,
  EVENT_TYPES,
  eventIdOf,
  isEventType,
  type PublishedEvent,
  type EventType,
  type EventTypeDefinition,
  positionOf,
  toPublishedEvent,
} from './event-types';
export { EventsModule } from './events.module';
export { EVENTS_CHANNEL } from './event-publisher';
export { EventReadingService } from './reading/event-reading.service';
export { EventOut } from './reading/events.dto';
export { EventPageReader } from './reading/event-page-reader';
export { EVENTS_DATA } from './personal-data';
