import { Controller, Get, Logger, Query, Req, Res, StreamableFile } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { CurrentUserId, Scopes } from '../auth';
import { toStream } from '../http';
import type { BalanceChangesPage } from './balance-change.dto';
import { BalanceHistoryService } from './balance-history.service';
import { LedgerDocs } from './ledger.docs';
import { LedgerQuery } from './ledger.query';

@ApiTags('Profile')
@Controller()
export class LedgerController {
  private readonly logger = new Logger(LedgerController.name);

  constructor(private readonly history: BalanceHistoryService) {}

  @Get('ledger')
  @Scopes('profile:read')
  @LedgerDocs()
  async ledger(
    @CurrentUserId() userId: number,
    @Query() { from, to, kind, order_id: orderId, format, cursor, limit }: LedgerQuery,
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
  ): Promise<BalanceChangesPage | StreamableFile> {
    const filter = { from, to, kind, orderId };
    response.vary('Accept');
    // Whoever accepts neither gets JSON, as from every other route.
    if ((format ?? request.accepts('json', 'csv')) !== 'csv') {
      return this.history.listEntries(userId, filter, { cursor, limit });
    }
    const file = await toStream(this.history.writeCsv(userId, filter));
    return new StreamableFile(file, {
      type: 'text/csv; charset=utf-8',
      disposition: 'attachment; filename="ledger.csv"',
    }).setErrorLogger(({ stack }) => this.logger.error('a ledger broke off while it was sent', stack));
  }
}
