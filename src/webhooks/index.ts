export { blockReceiver, unblockReceiver } from './blocking';
export { WebhookDeliveryModule } from './delivery/delivery.module';
export { DeliveryService } from './delivery/delivery.service';
export { Webhook } from './webhook.entity';
export { WebhookAttempt } from './webhook-attempt.entity';
export { WebhookDelivery } from './webhook-delivery.entity';
export { WebhooksModule } from './webhooks.module';
export { EVENT_WEBHOOKS } from './webhook-description';
export { WebhookNotFound } from './webhooks.errors';
