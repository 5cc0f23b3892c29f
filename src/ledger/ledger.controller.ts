import { Controller, Get, Query, Req, Res, type StreamableFile } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { CurrentUserId, Route } from '../auth';
import { csvFile, INVALID_PERIOD } from '../http';
import { type BalanceChangeOut, BalanceChangesPage } from './balance-change.dto';
import { BalanceHistoryService } from './balance-history.service';
import { LedgerFileQuery, type LedgerFilterQuery, LedgerQuery } from './ledger.query';

const CAPTURED = {
  seq: 3,
  created_at: '2026-11-21T12:00:01.000Z',
  kind: 'capture',
  order_id: 815,
  available_before: '974.92',
  available_delta: '0.00',
  available_after: '974.92',
  held_before: '25.08',
  held_delta: '-25.08',
  held_after: '0.00',
  deposit_id: null,
} satisfies Record<keyof BalanceChangeOut, unknown>;

const HELD = {
  ...CAPTURED,
  seq: 2,
  created_at: '2026-11-21T12:00:00.000Z',
  kind: 'hold',
  available_before: '1000.00',
  available_delta: '-25.08',
  held_before: '0.00',
  held_delta: '25.08',
  held_after: '25.08',
};

const CREDITED = {
  ...HELD,
  seq: 1,
  created_at: '2026-11-21T11:00:00.000Z',
  kind: 'credit',
  order_id: null,
  available_before: '0.00',
  available_delta: '1000.00',
  available_after: '1000.00',
  held_delta: '0.00',
  held_after: '0.00',
};

const PAGE = { items: [CAPTURED, HELD, CREDITED], next_cursor: null };

const FILE = [
  Object.keys(CAPTURED),
  ...[CREDITED, HELD, CAPTURED].map((entry) => Object.values({ ...entry, order_id: entry.order_id ?? '' })),
]
  .map((cells) => `${cells.join(',')}\r\n`)
  .join('');

@ApiTags('Profile')
@Controller()
export class LedgerController {
  constructor(private readonly history: BalanceHistoryService) {}

  @Get('ledger')
  @Route({
    scope: 'profile:read',
    summary: 'List the ledger',
    description:
      'Every change to the balance, newest first. Results are paginated: send `next_cursor` as ' +
      '`cursor` until it is null. Each change starts from the balance that the previous one left, so ' +
      'the pages add up to the balance in `GET /me`, even while orders are being placed. With `Accept: ' +
      'text/csv`, the response is the same as that of `GET /ledger/csv`.',
    response: { description: 'A page of changes', type: BalanceChangesPage, example: PAGE },
    errors: { 400: INVALID_PERIOD },
  })
  async listLedger(
    @CurrentUserId() userId: number,
    @Query() query: LedgerQuery,
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
  ): Promise<BalanceChangesPage | StreamableFile> {
    response.vary('Accept');
    // Clients that accept neither format get JSON, as on every other route.
    const format = query.format ?? request.accepts('json', 'csv');
    if (format === 'csv') return this.sendFile(userId, query, false);
    return this.history.listEntries(userId, query, query);
  }

  @Get('ledger/csv')
  @Route({
    scope: 'profile:read',
    summary: 'Download the ledger as CSV',
    description: 'Every change to the balance so far, oldest first, as a CSV file.',
    response: {
      description: 'A CSV file (RFC 4180). Its first line contains the column names',
      content: { 'text/csv': { schema: { type: 'string' }, example: FILE } },
    },
    errors: { 400: INVALID_PERIOD },
  })
  exportLedger(@CurrentUserId() userId: number, @Query() query: LedgerFileQuery): Promise<StreamableFile> {
    return this.sendFile(userId, query, query.excel);
  }

  private sendFile(userId: number, filter: LedgerFilterQuery, excel: boolean): Promise<StreamableFile> {
    return csvFile(this.history.writeCsv(userId, filter), { name: 'ledger', excel });
  }
}
