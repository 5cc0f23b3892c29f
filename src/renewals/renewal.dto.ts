import { ApiProperty } from '@nestjs/swagger';
import { ApiChoice, ApiInteger, ApiMoment, ApiNullable, ApiNullableMoment, PageOf } from '../http';
import { RENEWAL_OBSTACLES, type RenewalObstacle } from './renewal-decision';
import { RENEWAL_STATES, type RenewalState } from './renewal-states';

export class RenewalOut {
  @ApiProperty({ type: 'integer', example: 8 })
  id!: number;

  @ApiProperty({ type: 'string', example: '17' })
  proxy_id!: string;

  @ApiInteger('The rule that applied when the renewal was last examined', 3)
  rule_id!: number;

  @ApiMoment('When the rental would end without this renewal', '2026-11-22T12:00:00.000Z')
  date_end!: Date;

  @ApiChoice(
    RENEWAL_STATES,
    '`planned`: due later. `placed`: the order is in progress. `done`: charged and prolonged. ' +
      '`skipped`: not renewed so far, for the stated `reason`; retried at `next_try_at`, if set. ' +
      '`failed`: not renewed, and not retried',
    'done',
  )
  state!: RenewalState;

  @ApiNullable(RENEWAL_OBSTACLES, 'Why the renewal was skipped or failed', null)
  reason!: RenewalObstacle | null;

  @ApiInteger('Days', 30)
  period!: number;

  @ApiNullable(
    'string',
    'Amount charged, or held for the order, in roubles. `null` before there is an order',
    '25.08',
  )
  price!: string | null;

  @ApiNullable('integer', 'The order placed for the renewal or for its latest attempt', 815)
  order_id!: number | null;

  @ApiMoment('When the renewal is due', '2026-11-21T12:00:00.000Z')
  due_at!: Date;

  @ApiNullableMoment('When the renewal will be tried next. `null` if it is in progress or over', null)
  next_try_at!: Date | null;

  @ApiNullableMoment('When the renewal was charged. It counts against the budget of that month (UTC)')
  charged_at!: Date | null;
}

export class RenewalsPage extends PageOf(RenewalOut) {}
