export {
  ALL_EVENT_TYPES,
  EVENT_TYPES,
  type EventOut,
  type EventType,
  type EventTypeDefinition,
  positionOf,
  toEventOut,
} from './event-types';
export { LoggedEvent } from './event.entity';
export { EventsJobsModule } from './events-jobs.module';
export { EventsModule } from './events.module';
export { PublishedEvents, type PublishedListener } from './published-events';
