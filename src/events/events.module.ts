import { Module } from '@nestjs/common';
import { PublishedEvents } from './published-events';

@Module({ providers: [PublishedEvents], exports: [PublishedEvents] })
export class EventsModule {}
