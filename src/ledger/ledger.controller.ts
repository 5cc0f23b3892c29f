import { Controller, Get, Logger, Query, Req, Res, StreamableFile } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { CurrentUserId, Scopes } from '../auth';
import { toStream } from '../http';
import type { BalanceChangesPage } from './balance-change.dto';
import { BalanceHistoryService } from './balance-history.service';
import { LedgerDocs, LedgerFileDocs } from './ledger.docs';
import { LedgerFilterQuery, LedgerQuery } from './ledger.query';

@ApiTags('Profile')
@Controller()
export class LedgerController {
  private readonly logger = new Logger(LedgerController.name);

  constructor(private readonly history: BalanceHistoryService) {}

  @Get('ledger')
  @Scopes('profile:read')
  @LedgerDocs()
  async listLedger(
    @CurrentUserId() userId: number,
    @Query() query: LedgerQuery,
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
  ): Promise<BalanceChangesPage | StreamableFile> {
    response.vary('Accept');
    // Whoever accepts neither gets JSON, as from every other route.
    const format = query.format ?? request.accepts('json', 'csv');
    if (format === 'csv') return this.exportLedger(userId, query);
    const { from, to, kind, order_id: orderId } = query;
    return this.history.listEntries(userId, { from, to, kind, orderId }, query);
  }

  @Get('ledger/csv')
  @Scopes('profile:read')
  @LedgerFileDocs()
  async exportLedger(
    @CurrentUserId() userId: number,
    @Query() { from, to, kind, order_id: orderId }: LedgerFilterQuery,
  ): Promise<StreamableFile> {
    const filter = { from, to, kind, orderId };
    const file = await toStream(this.history.writeCsv(userId, filter));
    return new StreamableFile(file, {
      type: 'text/csv; charset=utf-8',
      disposition: 'attachment; filename="ledger.csv"',
    }).setErrorLogger(({ stack }) => this.logger.error('a ledger broke off while it was sent', stack));
  }
}
