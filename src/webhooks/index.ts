export { blockReceiver, unblockReceiver } from './blocking';
export { WebhookDeliveryModule } from './delivery/delivery.module';
export { DeliveryService } from './delivery/delivery.service';
export { WebhooksModule } from './webhooks.module';
export { EVENT_WEBHOOKS } from './webhook-description';
export { WebhookNotFound } from './webhooks.errors';
