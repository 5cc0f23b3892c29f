import { Controller, HttpCode, Param, Post, Req } from '@nestjs/common';
import { ApiExcludeEndpoint } from '@nestjs/swagger';
import type { Request } from 'express';
import { Public } from '../../auth';
import { receivedBytes } from '../../http';
import { type IntakePayment, IntakeService } from './intake.service';

const MAX_BODY_BYTES = 16 * 1024;

/** Receives payments from the shop's other systems. Documented in docs/payments.md, not in OpenAPI. */
@Controller('payments/intake')
export class IntakeController {
  constructor(private readonly intake: IntakeService) {}

  @Post(':source')
  @HttpCode(200)
  @Public({ maxBodyBytes: MAX_BODY_BYTES })
  @ApiExcludeEndpoint()
  take(@Param('source') source: string, @Req() request: Request): Promise<IntakePayment> {
    const signed = {
      id: request.get('webhook-id'),
      timestamp: request.get('webhook-timestamp'),
      signatures: request.get('webhook-signature'),
      body: receivedBytes(request),
    };
    return this.intake.take(source, signed, request.body as unknown);
  }
}
