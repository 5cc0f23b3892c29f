export { AddressRefused, AddressRules } from './delivery/addresses';
export { Webhook } from './webhook.entity';
export { WebhookAttempt } from './webhook-attempt.entity';
export { WebhookDelivery } from './webhook-delivery.entity';
export { WebhooksModule } from './webhooks.module';
