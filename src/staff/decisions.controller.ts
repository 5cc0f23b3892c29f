import { Body, Controller, Get, Headers, HttpCode, Post, Query, Res } from '@nestjs/common';
import { ApiBody, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { ApiErrorResponse, ApiValidationErrorResponse, IdParam, markReplay, REPLAYED_HEADER } from '../http';
import type { PostedEntry } from '../ledger';
import { type OrphanRow, OrphansService } from '../orders';
import type { Act } from './act';
import { ApiPostingKey } from './api-idempotency';
import { PostedEntryOut } from './dto/balance.dto';
import {
  AssignmentRequest,
  DecisionRequest,
  MarkRequest,
  OrphanOut,
  OrphansPage,
  OrphansQuery,
  RefundRequest,
} from './dto/decision.dto';
import { type Page, toPage } from './dto/fields';
import { OrderOut } from './dto/order.dto';
import { ApiOrderId, ApiOrphanId } from './dto/path-ids';
import type { OrderRow } from './order-row';
import { StaffDecisionsService } from './staff-decisions.service';
import { CurrentAct, StaffRoute } from './staff-route';

const ON_ORDER = ['order', 'order_id'] as const;
const ON_ORPHAN = ['orphan', 'orphan_id'] as const;
const ApiOrderNotFound = () => ApiErrorResponse(404, 'There is no such order', 'Order not found');
const ApiReasonMissing = () =>
  ApiValidationErrorResponse({ type: 'missing', loc: ['body', 'reason'], msg: 'Field required', input: {} });

@ApiTags('Orders')
@Controller('staff')
export class StaffDecisionsController {
  constructor(
    private readonly decisions: StaffDecisionsService,
    private readonly orphans: OrphansService,
  ) {}

  @Post('orders/:order_id/decide')
  @HttpCode(200)
  @StaffRoute({
    scope: 'staff:orders',
    action: 'orders.decide',
    on: ON_ORDER,
    summary: 'Decide an order in review',
    description:
      'For support, when the provider did not say what became of an order. `deliver` asks the provider once more, hands out what it has of the ' +
      'order and charges for that; what is missing is given back. `refund` gives all of the money back; what the provider has all the same becomes ' +
      'an orphan at the next sweep. Orders that went to the provider in one call are decided one by one.',
  })
  @ApiOrderId()
  @ApiBody({
    type: DecisionRequest,
    examples: {
      refund: { value: { decision: 'refund', reason: 'Nothing at the provider after a day, ticket 820' } },
      deliver: { value: { decision: 'deliver', reason: 'The provider confirmed it, ticket 821' } },
    },
  })
  @ApiOkResponse({ description: 'The order as it is now', type: OrderOut })
  @ApiOrderNotFound()
  @ApiErrorResponse(
    409,
    'Nothing was changed',
    'The order is not in review',
    'The provider shows nothing of this order that could be delivered',
    'The proxy belongs to another order',
  )
  @ApiReasonMissing()
  @ApiErrorResponse(
    503,
    'The provider cannot be asked; nothing was changed',
    'Service temporarily unavailable',
  )
  decide(
    @CurrentAct() act: Act,
    @IdParam('order_id') orderId: number,
    @Body() { decision, reason }: DecisionRequest,
  ): Promise<OrderRow> {
    return this.decisions.decide(act, orderId, decision, reason);
  }

  @Post('orders/:order_id/refund')
  @HttpCode(200)
  @StaffRoute({
    scope: 'staff:balance',
    action: 'orders.refund',
    on: ON_ORDER,
    summary: 'Refund an order',
    description:
      'For support, when a customer was right to complain: gives back of what the order has paid, without `amount` all that is left of it. Never more ' +
      'than was paid, also in several parts. The proxies stay with the user.',
  })
  @ApiOrderId()
  @ApiPostingKey({ required: true })
  @ApiBody({
    type: RefundRequest,
    examples: {
      whole: { value: { reason: 'Proxies never worked, ticket 822' } },
      part: { value: { amount: '12.54', reason: 'One of two did not work', reference: 'ticket 823' } },
    },
  })
  @ApiOkResponse({
    description: 'The entry, with the balance after it',
    type: PostedEntryOut,
    headers: REPLAYED_HEADER,
  })
  @ApiOrderNotFound()
  @ApiErrorResponse(
    409,
    'Nothing was changed',
    'Nothing of this order is left to refund',
    'Only 12.54 of this order is left to refund',
  )
  @ApiValidationErrorResponse({
    type: 'missing',
    loc: ['header', 'Idempotency-Key'],
    msg: 'Field required',
    input: null,
  })
  async refund(
    @CurrentAct() act: Act,
    @IdParam('order_id') orderId: number,
    @Body() { amount, reason, reference }: RefundRequest,
    @Headers('idempotency-key') key: string | undefined,
    @Res({ passthrough: true }) response: Response,
  ): Promise<PostedEntry> {
    const { entry, replayed } = await this.decisions.refund(act, { orderId, amount, reason, reference }, key);
    markReplay(response, replayed);
    return entry;
  }

  @Get('orphans')
  @StaffRoute({
    scope: 'staff:orders',
    action: 'orphans.list',
    summary: 'Orphans',
    description:
      'For support and accounting: proxies that the provider lists under our tags and that no order accounts for. The last found first. ' +
      '`state` is `open`, `assigned` or `written-off`; without it all are listed.',
  })
  @ApiOkResponse({ description: 'A page of orphans, the last found first', type: OrphansPage })
  @ApiValidationErrorResponse({
    type: 'string_pattern_mismatch',
    loc: ['query', 'state'],
    msg: "String should match pattern '^(open|assigned|written-off)$'",
    input: 'lost',
    ctx: { pattern: '^(open|assigned|written-off)$' },
  })
  async listOrphans(@Query() { state, tag, cursor, limit }: OrphansQuery): Promise<Page<OrphanRow>> {
    const orphans = await this.orphans.list({ state, tag }, { cursor, limit: limit + 1 });
    return toPage(orphans, limit, ({ id }) => id);
  }

  @Post('orphans/:orphan_id/assign')
  @HttpCode(200)
  @StaffRoute({
    scope: 'staff:orders',
    action: 'orphans.assign',
    on: ON_ORPHAN,
    summary: 'Assign an orphan',
    description:
      'For support, when it is clear whose it is: the user of the named purchase has the proxy from now on, free of charge. To charge for it, ' +
      'debit the balance as well. It cannot be taken back.',
  })
  @ApiOrphanId()
  @ApiBody({
    type: AssignmentRequest,
    examples: { late: { value: { order_id: 815, reason: 'Bought after the refund, ticket 824' } } },
  })
  @ApiOkResponse({ description: 'The orphan as it is now', type: OrphanOut })
  @ApiErrorResponse(404, 'There is no such orphan, or no such order', 'Orphan not found', 'Order not found')
  @ApiErrorResponse(
    409,
    'Nothing was changed',
    'The orphan is assigned to an order already',
    'Orphans are assigned to purchases that are closed',
    'The proxy belongs to another order',
  )
  @ApiReasonMissing()
  assignOrphan(
    @CurrentAct() act: Act,
    @IdParam('orphan_id') orphanId: number,
    @Body() { order_id: orderId, reason }: AssignmentRequest,
  ): Promise<OrphanRow> {
    return this.decisions.assignOrphan(act, orphanId, orderId, reason);
  }

  @Post('orphans/:orphan_id/mark')
  @HttpCode(200)
  @StaffRoute({
    scope: 'staff:orders',
    action: 'orphans.mark',
    on: ON_ORPHAN,
    summary: 'Mark an orphan',
    description:
      'For accounting: `written-off` when it is nobody’s and stays our cost, `open` when somebody has to look into it again.',
  })
  @ApiOrphanId()
  @ApiBody({
    type: MarkRequest,
    examples: { loss: { value: { state: 'written-off', reason: 'Expires tomorrow' } } },
  })
  @ApiOkResponse({ description: 'The orphan as it is now', type: OrphanOut })
  @ApiErrorResponse(404, 'There is no such orphan', 'Orphan not found')
  @ApiErrorResponse(409, 'Nothing was changed', 'The orphan is assigned to an order already')
  @ApiReasonMissing()
  markOrphan(
    @CurrentAct() act: Act,
    @IdParam('orphan_id') orphanId: number,
    @Body() { state, reason }: MarkRequest,
  ): Promise<OrphanRow> {
    return this.decisions.markOrphan(act, orphanId, state, reason);
  }
}
