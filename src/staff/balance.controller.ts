import {
  applyDecorators,
  Body,
  Controller,
  Get,
  Headers,
  HttpCode,
  Logger,
  Post,
  Query,
  Res,
  StreamableFile,
} from '@nestjs/common';
import { ApiBody, ApiExtraModels, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import {
  ApiErrorResponse,
  ApiValidationErrorResponse,
  IdParam,
  markReplay,
  REPLAYED_HEADER,
  toStream,
} from '../http';
import type { PostedEntry } from '../ledger';
import type { Act } from './act';
import { ApiPostingKey } from './api-idempotency';
import {
  CausingAction,
  CausingOrder,
  LedgerPage,
  PostedEntryOut,
  PostingRequest,
  StatementQuery,
} from './dto/balance.dto';
import { ApiLimitErrorResponse, type Page, PageQuery, toPage } from './dto/fields';
import { ApiUserId, ApiUserNotFound } from './dto/path-ids';
import { type LedgerRow, StaffBalanceService } from './staff-balance.service';
import { CurrentAct, StaffRoute } from './staff-route';
import { asCsv } from './statement-csv';

const ON_USER = ['user', 'user_id'] as const;

const ApiPosting = (example: object) =>
  applyDecorators(
    ApiUserId(),
    ApiPostingKey({ required: false }),
    ApiBody({ type: PostingRequest, examples: { usual: { value: example } } }),
    ApiOkResponse({
      description: 'The entry, with the balance after it',
      type: PostedEntryOut,
      headers: REPLAYED_HEADER,
    }),
    ApiErrorResponse(
      400,
      'Nothing was changed',
      'Insufficient balance',
      'The amount must be above 0, at most 100000000.00, with at most two decimals',
    ),
    ApiUserNotFound(),
    ApiValidationErrorResponse({
      type: 'greater_than',
      loc: ['body', 'amount'],
      msg: 'Input should be greater than 0',
      input: '0',
      ctx: { gt: 0 },
    }),
  );

@ApiTags('Money')
@ApiExtraModels(CausingAction, CausingOrder)
@Controller('staff/users/:user_id')
export class StaffBalanceController {
  private readonly logger = new Logger(StaffBalanceController.name);

  constructor(private readonly balances: StaffBalanceService) {}

  @Post('credit')
  @HttpCode(200)
  @StaffRoute({
    scope: 'staff:balance',
    action: 'balance.credit',
    on: ON_USER,
    summary: 'Credit a balance',
    description:
      'For accounting, when a payment came in or a customer is made up to. The reference is where to look further: an invoice, a ticket.',
  })
  @ApiPosting({ amount: '500.00', reason: 'Bank transfer', reference: 'invoice 2026-1107' })
  credit(
    @CurrentAct() act: Act,
    @IdParam('user_id') userId: number,
    @Body() body: PostingRequest,
    @Headers('idempotency-key') key: string | undefined,
    @Res({ passthrough: true }) response: Response,
  ): Promise<PostedEntry> {
    return this.post(act, 'credit', userId, body, key, response);
  }

  @Post('debit')
  @HttpCode(200)
  @StaffRoute({
    scope: 'staff:balance',
    action: 'balance.debit',
    on: ON_USER,
    summary: 'Debit a balance',
    description:
      'For accounting, when a credit was a mistake or money is paid back. Takes no more than can be spent; money held for orders stays held.',
  })
  @ApiPosting({ amount: '499.99', reason: 'Credited twice', reference: 'ticket 817' })
  debit(
    @CurrentAct() act: Act,
    @IdParam('user_id') userId: number,
    @Body() body: PostingRequest,
    @Headers('idempotency-key') key: string | undefined,
    @Res({ passthrough: true }) response: Response,
  ): Promise<PostedEntry> {
    return this.post(act, 'debit', userId, body, key, response);
  }

  private async post(
    act: Act,
    direction: 'credit' | 'debit',
    userId: number,
    { amount, reason, reference }: PostingRequest,
    key: string | undefined,
    response: Response,
  ): Promise<PostedEntry> {
    const posting = { userId, amount, reason, reference };
    const { entry, replayed } = await this.balances.post(act, direction, posting, key);
    markReplay(response, replayed);
    return entry;
  }

  @Get('ledger')
  @StaffRoute({
    scope: 'staff:balance',
    action: 'ledger.read',
    on: ON_USER,
    summary: 'Ledger of a user',
    description:
      'For support, to answer why a balance is what it is: every change of it, newest first, with what caused it (an order, or something that staff ' +
      'did) and the balance after it.',
  })
  @ApiUserId()
  @ApiOkResponse({ description: 'A page of entries, newest first', type: LedgerPage })
  @ApiUserNotFound()
  @ApiLimitErrorResponse()
  async ledger(
    @IdParam('user_id') userId: number,
    @Query() { cursor, limit }: PageQuery,
  ): Promise<Page<LedgerRow>> {
    const rows = await this.balances.listEntries(userId, { cursor, limit: limit + 1 });
    return toPage(rows, limit, ({ seq }) => seq);
  }

  @Get('statement')
  @StaffRoute({
    scope: 'staff:balance',
    action: 'ledger.statement',
    on: ON_USER,
    summary: 'Statement as CSV',
    description:
      'For accounting, and for customers who ask: every change of a balance in a period, oldest first, as a file. `from` is included and `to` is not.',
  })
  @ApiUserId()
  @ApiOkResponse({
    description: 'A file with a line of names, RFC 4180',
    content: {
      'text/csv': {
        schema: { type: 'string' },
        example:
          'seq,created_at,kind,available_delta,held_delta,available_after,held_after,order_id,reference,reason\r\n' +
          '1,2026-11-21T12:00:00.000000Z,topup,500.00,0.00,500.00,0.00,,invoice 2026-1107,Bank transfer\r\n',
      },
    },
  })
  @ApiUserNotFound()
  @ApiValidationErrorResponse({
    type: 'timezone_aware',
    loc: ['query', 'from'],
    msg: 'Input should have timezone info',
    input: '2026-11-01T00:00:00',
  })
  async statement(
    @IdParam('user_id') userId: number,
    @Query() { from, to }: StatementQuery,
  ): Promise<StreamableFile> {
    await this.balances.assertUser(userId);
    const file = await toStream(asCsv(this.balances.statement(userId, from, to)));
    return new StreamableFile(file, {
      type: 'text/csv; charset=utf-8',
      disposition: `attachment; filename="statement-${userId}.csv"`,
    }).setErrorLogger(({ stack }) => this.logger.error('a statement broke off', stack));
  }
}
