import { Controller, HttpCode, Param, Post, Req } from '@nestjs/common';
import { ApiExcludeEndpoint } from '@nestjs/swagger';
import type { Request } from 'express';
import { Public } from '../../auth';
import { jsonOrUndefined } from '../../common';
import { AnyContentEncoding, receivedBytes, UnparsedBody } from '../../http';
import { UnknownNotifier } from '../deposits/deposits.errors';
import { PaymentProvider } from '../provider/payment-provider';
import { PaymentNotifications } from './payment-notifications';

/** Larger bodies cannot come from the provider, so they are ignored, but get a 200. */
const MAX_BODY_BYTES = 16 * 1024;

@Controller('payments')
export class PaymentNotificationsController {
  constructor(
    private readonly notifications: PaymentNotifications,
    private readonly paymentProvider: PaymentProvider,
  ) {}

  @Post(':provider/notifications')
  @HttpCode(200)
  @Public({ maxBodyBytes: MAX_BODY_BYTES })
  @UnparsedBody()
  @AnyContentEncoding()
  @ApiExcludeEndpoint()
  notify(@Param('provider') provider: string, @Req() request: Request): Record<string, never> {
    if (provider !== this.paymentProvider.name) throw new UnknownNotifier();
    this.notifications.hear(jsonOrUndefined(receivedBytes(request).toString()));
    return {};
  }
}
