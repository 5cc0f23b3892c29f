import { Module } from '@nestjs/common';
import { EventsModule } from '../events';
import { DeliveryQueue } from './delivery/delivery-queue';
import { DeliveryService } from './delivery/delivery.service';
import { ReplaysService } from './replays.service';
import { WebhooksRetention } from './webhooks-retention';
import { WebhooksController } from './webhooks.controller';
import { WebhooksService } from './webhooks.service';

/** Webhooks: routes in this folder, sending in `delivery/`. */
@Module({
  imports: [EventsModule],
  controllers: [WebhooksController],
  providers: [WebhooksService, ReplaysService, DeliveryQueue, DeliveryService, WebhooksRetention],
})
export class WebhooksModule {}
