export { AddressRules } from './addresses';
export { blockReceiver, unblockReceiver } from './blocking';
export { checkedLookup, systemResolver } from './delivery/lookup';
export { WebhooksModule } from './webhooks.module';
export { EVENT_WEBHOOKS } from './webhook-description';
export { WebhookNotFound } from './webhooks.errors';
export { WEBHOOKS_DATA } from './personal-data';
