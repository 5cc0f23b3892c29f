import { Module } from '@nestjs/common';

/** Webhooks: routes in this folder, and what sends in `delivery/`. */
@Module({})
export class WebhooksModule {}
