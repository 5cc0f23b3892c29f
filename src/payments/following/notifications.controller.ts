import { Controller, HttpCode, Param, Post, Req } from '@nestjs/common';
import { ApiExcludeEndpoint } from '@nestjs/swagger';
import type { Request } from 'express';
import { Public } from '../../auth';
import { UnknownNotifier } from '../deposits/deposits.errors';
import { PaymentProvider } from '../provider/payment-provider';
import { Notifications } from './notifications';

/** More than the provider's longest notification. */
const MAX_BODY_BYTES = 64 * 1024;

/** Receives the provider's notifications. The description omits it: customers never call it. */
@Controller('payments')
export class NotificationsController {
  constructor(
    private readonly notifications: Notifications,
    private readonly provider: PaymentProvider,
  ) {}

  @Post(':provider/notifications')
  @HttpCode(200)
  @Public({ maxBodyBytes: MAX_BODY_BYTES })
  @ApiExcludeEndpoint()
  notify(@Param('provider') provider: string, @Req() { body }: Request): Record<string, never> {
    if (provider !== this.provider.name) throw new UnknownNotifier();
    this.notifications.hear(body);
    return {};
  }
}
