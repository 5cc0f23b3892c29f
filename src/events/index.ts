export {
  ALL_EVENT_TYPES,
  EVENT_ID_PATTERN,
  EVENT_TYPES,
  eventIdOf,
  isEventType,
  type EventOut,
  type EventType,
  type EventTypeDefinition,
  positionOf,
  toEventOut,
} from './event-types';
export { EventsModule } from './events.module';
export { EVENTS_CHANNEL } from './event-publisher';
export { EventReadingService } from './reading/event-reading.service';
export { EventDto } from './reading/events.dto';
export { EventPages } from './reading/event-pages';
export { EVENTS_DATA } from './personal-data';
