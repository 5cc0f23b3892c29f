import { Module } from '@nestjs/common';
import { EventsModule } from '../events';
import { Retention } from '../jobs';
import { DeliveryQueue } from './delivery/delivery-queue';
import { DeliveryService } from './delivery/delivery.service';
import { ReplaysService } from './replays.service';
import { WebhooksController } from './webhooks.controller';
import { WebhooksService } from './webhooks.service';

@Module({
  imports: [EventsModule],
  controllers: [WebhooksController],
  providers: [WebhooksService, ReplaysService, DeliveryQueue, DeliveryService],
})
export class WebhooksModule {
  constructor(retention: Retention, webhooks: WebhooksService) {
    // Only deleted webhooks need a rule: other webhooks' deliveries are removed together with the events.
    retention.add('deleted_webhooks', () => webhooks.forgetDeleted());
  }
}
