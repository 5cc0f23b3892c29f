import { Body, Controller, Get, Headers, Param, Post, Query, Req, Res } from '@nestjs/common';
import { ApiParam, ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { CurrentUserId, Route } from '../../auth';
import { Money } from '../../common';
import { disconnection, markReplay, PageQuery, TooManyUnderWay } from '../../http';
import { DepositOut } from '../records/deposit.dto';
import { DepositQuery, DepositRequest, DepositsPage, LONGEST_WAIT_SECONDS } from './deposits.dto';
import {
  DepositBeingPrepared,
  DepositNotFound,
  DepositOutOfBounds,
  PaymentsRefused,
  TooManyDeposits,
} from './deposits.errors';
import { DepositsService } from './deposits.service';

@ApiTags('Deposits')
@Controller('deposits')
export class DepositsController {
  constructor(private readonly deposits: DepositsService) {}

  @Post()
  @Route({
    scope: 'deposits:write',
    summary: 'Create a deposit',
    description:
      'Creates a deposit. Open `payment_url` to pay it. The balance is credited once the payment ' +
      'provider shows that it has received the money, usually within a second. `GET ' +
      '/deposits/{deposit_id}?wait=30` and the event `deposit.succeeded` report the credit.',
    status: 201,
    idempotencyKey: {
      required: true,
      description:
        'Makes the request safe to retry: one deposit per key. Retry on 5xx and lost connections with the ' +
        'same key.',
      example: 'deposit-1',
    },
    response: { description: 'The deposit', type: DepositOut },
    errors: {
      400: [
        'The amount is outside the limits',
        new DepositOutOfBounds(Money.parse('100'), Money.parse('100000')),
      ],
      409: ['The payment provider refused the payment, and a retry cannot succeed', PaymentsRefused],
      429: ['too many deposits are pending or being prepared', TooManyDeposits, TooManyUnderWay],
      503: ['The payment provider did not respond', new DepositBeingPrepared(12)],
    },
  })
  async createDeposit(
    @CurrentUserId() userId: number,
    @Body() body: DepositRequest,
    @Headers('idempotency-key') key: string | undefined,
    @Res({ passthrough: true }) response: Response,
  ): Promise<DepositOut> {
    const { deposit, isReplay } = await this.deposits.create(userId, body, key);
    markReplay(response, isReplay);
    return deposit;
  }

  @Get()
  @Route({
    scope: 'deposits:read',
    summary: 'List deposits',
    description:
      "The user's deposits, newest first. Results are paginated: send `next_cursor` as `cursor` until " +
      'it is null.',
    response: { description: 'A page of deposits', type: DepositsPage },
  })
  listDeposits(@CurrentUserId() userId: number, @Query() page: PageQuery): Promise<DepositsPage> {
    return this.deposits.list(userId, page);
  }

  @Get(':deposit_id')
  @Route({
    scope: 'deposits:read',
    summary: 'Show a deposit',
    description:
      `One of the user's deposits. If \`wait\` is set (up to ${LONGEST_WAIT_SECONDS} seconds), the ` +
      'request waits until the deposit has ended; send it again while the deposit is `pending`.',
    response: { description: 'The deposit', type: DepositOut },
    errors: { 404: ['The user has no deposit with this id', DepositNotFound] },
  })
  @ApiParam({
    name: 'deposit_id',
    description: "The `id` of one of the user's deposits; any other text returns 404",
    schema: { type: 'string', title: 'Deposit Id', example: '1' },
  })
  getDeposit(
    @CurrentUserId() userId: number,
    @Param('deposit_id') depositId: string,
    @Query() { wait }: DepositQuery,
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
  ): Promise<DepositOut> {
    return this.deposits.read(userId, depositId, { seconds: wait, request, hungUp: disconnection(response) });
  }
}
