import { Body, Controller, Get, Headers, Post, Query, type StreamableFile } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { csvFile, IdParam, INVALID_PERIOD, PageQuery } from '../../http';
import { BalanceTooLarge, InsufficientBalance, InvalidAmount } from '../../ledger';
import { UserNotFound } from '../../users';
import type { AuditContext } from '../audit-log/audit-context';
import { CurrentAudit, OWN_ACCOUNT_ERRORS, notFound, POSTING_KEY, StaffRoute } from '../staff-route';
import {
  type LedgerEntryOut,
  LedgerPage,
  PostingOut,
  PostingRequest,
  StatementQuery,
} from './staff-balances.dto';
import { StaffBalancesService } from './staff-balances.service';

const POSTING = {
  idempotencyKey: POSTING_KEY,
  response: { description: 'The ledger entry, with the resulting balance', type: PostingOut },
  errors: {
    400: ['Nothing was changed', InsufficientBalance, InvalidAmount],
    403: OWN_ACCOUNT_ERRORS,
    404: notFound(UserNotFound),
  },
} as const;

const CAPTURED = {
  id: 1236,
  seq: 3,
  kind: 'capture',
  available_delta: '0.00',
  held_delta: '-25.08',
  available_after: '474.92',
  held_after: '0.00',
  order: { id: 815, kind: 'purchase', state: 'completed', link: '/staff/orders/815' },
  action: null,
  reason: null,
  reference: null,
  created_at: '2026-11-21T12:00:01.000Z',
} satisfies Record<keyof LedgerEntryOut, unknown>;

const CREDITED = {
  id: 1234,
  seq: 1,
  kind: 'topup',
  available_delta: '500.00',
  held_delta: '0.00',
  available_after: '500.00',
  held_after: '0.00',
  order: null,
  action: { id: 1001, via: 'api', user_id: 7, username: 'olga' },
  reason: 'Bank transfer',
  reference: 'invoice 2026-1107',
  created_at: '2026-11-21T11:00:00.000Z',
} satisfies Record<keyof LedgerEntryOut, unknown>;

const LEDGER = {
  items: [
    CAPTURED,
    {
      ...CAPTURED,
      id: 1235,
      seq: 2,
      kind: 'hold',
      available_delta: '-25.08',
      held_delta: '25.08',
      held_after: '25.08',
      created_at: '2026-11-21T12:00:00.000Z',
    },
    CREDITED,
  ],
  next_cursor: null,
} satisfies Record<keyof LedgerPage, unknown>;

@ApiTags('Money')
@Controller('staff/users/:user_id')
export class StaffBalancesController {
  constructor(private readonly balances: StaffBalancesService) {}

  @Post('credit')
  @StaffRoute({
    scope: 'staff:balance',
    action: 'balance.credit',
    on: 'user',
    summary: 'Credit a balance',
    description:
      'For accounting, when a payment has arrived or a customer is compensated. `amount` is in ' +
      'roubles, e.g. `"100.00"`. `reference` names the document that justifies the credit, such as an ' +
      'invoice or a ticket.',
    ...POSTING,
    errors: { ...POSTING.errors, 409: ['Nothing was changed', BalanceTooLarge] },
  })
  credit(
    @CurrentAudit() audit: AuditContext,
    @IdParam('user_id') userId: number,
    @Body() body: PostingRequest,
    @Headers('idempotency-key') key: string | undefined,
  ): Promise<PostingOut> {
    return this.balances.post(audit, 'credit', userId, body, key);
  }

  @Post('debit')
  @StaffRoute({
    scope: 'staff:balance',
    action: 'balance.debit',
    on: 'user',
    summary: 'Debit a balance',
    description:
      'For accounting, when a credit was a mistake or money is paid out. Debits at most the available ' +
      'balance; money held for orders remains held.',
    ...POSTING,
  })
  debit(
    @CurrentAudit() audit: AuditContext,
    @IdParam('user_id') userId: number,
    @Body() body: PostingRequest,
    @Headers('idempotency-key') key: string | undefined,
  ): Promise<PostingOut> {
    return this.balances.post(audit, 'debit', userId, body, key);
  }

  @Get('ledger')
  @StaffRoute({
    scope: 'staff:balance',
    action: 'ledger.read',
    on: 'user',
    summary: 'Show the ledger of a user',
    description:
      'For support, to explain a balance: its changes, newest first, each with its cause (an order or ' +
      'a staff member) and the resulting balance.',
    response: { description: 'A page of entries, newest first', type: LedgerPage, example: LEDGER },
    errors: { 404: notFound(UserNotFound) },
  })
  ledger(@IdParam('user_id') userId: number, @Query() page: PageQuery): Promise<LedgerPage> {
    return this.balances.listEntries(userId, page);
  }

  @Get('statement')
  @StaffRoute({
    scope: 'staff:balance',
    action: 'ledger.statement',
    on: 'user',
    summary: 'Download a statement as CSV',
    description:
      'For accounting, and for customers on request: a file of every change to a balance in a period, ' +
      'ordered by `seq`, so that each line follows from the previous one.',
    response: {
      description: 'A CSV file (RFC 4180). Its first line contains the column names',
      content: {
        'text/csv': {
          schema: { type: 'string' },
          example:
            'seq,created_at,kind,available_delta,held_delta,available_after,held_after,order_id,reference,' +
            'reason\r\n' +
            '1,2026-11-21T12:00:00.000000Z,topup,500.00,0.00,500.00,0.00,,invoice 2026-1107,' +
            'Bank transfer\r\n',
        },
      },
    },
    errors: { 400: INVALID_PERIOD, 404: notFound(UserNotFound) },
  })
  async statement(
    @IdParam('user_id') userId: number,
    @Query() { from, to, excel }: StatementQuery,
  ): Promise<StreamableFile> {
    const pieces = await this.balances.readStatement(userId, from, to);
    return csvFile(pieces, { name: `statement-${userId}`, excel });
  }
}
