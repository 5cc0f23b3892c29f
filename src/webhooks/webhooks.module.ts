import { Module } from '@nestjs/common';
import { LimitsModule } from '../http';
import { ReplaysService } from './replays.service';
import { WebhooksRetention } from './webhooks-retention';
import { WebhooksController } from './webhooks.controller';
import { WebhooksService } from './webhooks.service';

/** Webhooks: routes in this folder, and what sends in `delivery/`. */
@Module({
  imports: [LimitsModule],
  controllers: [WebhooksController],
  providers: [WebhooksService, ReplaysService, WebhooksRetention],
})
export class WebhooksModule {}
