import { Module } from '@nestjs/common';
import { EventsModule } from '../../events';
import { DeliveryQueue } from './delivery-queue';
import { DeliveryService } from './delivery.service';

/** Sends what is to be sent to webhooks. The command line does not. */
@Module({
  imports: [EventsModule],
  providers: [DeliveryQueue, DeliveryService],
  exports: [DeliveryService],
})
export class WebhookDeliveryModule {}
