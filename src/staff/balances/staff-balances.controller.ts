import {
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
import { ApiExtraModels, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { IdParam, markReplay, PageQuery, toStream } from '../../http';
import type { AuditContext } from '../audit-log/audit-context';
import { CurrentAudit, StaffRoute } from '../staff-route';
import { CreditDocs, DebitDocs, ReadLedgerDocs, ReadStatementDocs } from './staff-balances.docs';
import {
  CausingAction,
  CausingOrder,
  type LedgerPage,
  type PostingOut,
  PostingRequest,
  StatementQuery,
} from './staff-balances.dto';
import { StaffBalancesService } from './staff-balances.service';

@ApiTags('Money')
@ApiExtraModels(CausingAction, CausingOrder)
@Controller('staff/users/:user_id')
export class StaffBalancesController {
  private readonly logger = new Logger(StaffBalancesController.name);

  constructor(private readonly balances: StaffBalancesService) {}

  @Post('credit')
  @HttpCode(200)
  @CreditDocs()
  @StaffRoute({ scope: 'staff:balance', action: 'balance.credit', on: 'user' })
  async credit(
    @CurrentAudit() audit: AuditContext,
    @IdParam('user_id') userId: number,
    @Body() { amount, reason, reference }: PostingRequest,
    @Headers('idempotency-key') key: string | undefined,
    @Res({ passthrough: true }) response: Response,
  ): Promise<PostingOut> {
    const change = { userId, amount, reason, reference };
    const posting = await this.balances.post(audit, 'credit', change, key);
    markReplay(response, posting.replayed);
    return posting;
  }

  @Post('debit')
  @HttpCode(200)
  @DebitDocs()
  @StaffRoute({ scope: 'staff:balance', action: 'balance.debit', on: 'user' })
  async debit(
    @CurrentAudit() audit: AuditContext,
    @IdParam('user_id') userId: number,
    @Body() { amount, reason, reference }: PostingRequest,
    @Headers('idempotency-key') key: string | undefined,
    @Res({ passthrough: true }) response: Response,
  ): Promise<PostingOut> {
    const change = { userId, amount, reason, reference };
    const posting = await this.balances.post(audit, 'debit', change, key);
    markReplay(response, posting.replayed);
    return posting;
  }

  @Get('ledger')
  @ReadLedgerDocs()
  @StaffRoute({ scope: 'staff:balance', action: 'ledger.read', on: 'user' })
  ledger(@IdParam('user_id') userId: number, @Query() page: PageQuery): Promise<LedgerPage> {
    return this.balances.listEntries(userId, page);
  }

  @Get('statement')
  @ReadStatementDocs()
  @StaffRoute({ scope: 'staff:balance', action: 'ledger.statement', on: 'user' })
  async statement(
    @IdParam('user_id') userId: number,
    @Query() { from, to }: StatementQuery,
  ): Promise<StreamableFile> {
    const file = await toStream(await this.balances.readStatement(userId, from, to));
    return new StreamableFile(file, {
      type: 'text/csv; charset=utf-8',
      disposition: `attachment; filename="statement-${userId}.csv"`,
    }).setErrorLogger(({ stack }) => this.logger.error('a statement broke off while it was sent', stack));
  }
}
