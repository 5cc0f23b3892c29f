import { Body, Controller, Headers, HttpCode, Post, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { type Caller, CurrentCaller, ReplaysOverLimit, Scopes } from '../../auth';
import { markReplay } from '../../http';
import { BulkProlongations } from './bulk-prolongations.service';
import { BulkProlongDocs } from './bulk.docs';
import { BulkProlongRequest, BulkProlongResponse } from './bulk.dto';

@ApiTags('Orders')
@Controller('proxies')
export class BulkController {
  constructor(private readonly bulks: BulkProlongations) {}

  @Post('prolong')
  @HttpCode(200)
  @Scopes('proxies:write')
  @ReplaysOverLimit()
  @BulkProlongDocs()
  async prolongProxies(
    @CurrentCaller() caller: Caller,
    @Body() request: BulkProlongRequest,
    @Headers('idempotency-key') idempotencyKey: string | undefined,
    @Res({ passthrough: true }) response: Response,
  ): Promise<BulkProlongResponse> {
    const { answer, replayed } = await this.bulks.prolong(caller, request, idempotencyKey);
    markReplay(response, replayed);
    return answer;
  }
}
