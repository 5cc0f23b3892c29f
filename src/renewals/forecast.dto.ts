import { ApiExtraModels, ApiProperty } from '@nestjs/swagger';
import {
  ApiBoolean,
  ApiInteger,
  ApiListOf,
  ApiMoment,
  ApiNullable,
  ApiNullableMoment,
  ApiRoubles,
  ApiText,
  CURSOR,
  IdField,
  IntegerField,
  LimitField,
  PageOf,
  StrictRequest,
} from '../http';
import { RENEWAL_OBSTACLES, type RenewalObstacle } from './renewal-decision';

export const FORECAST_DAYS = 90;

@StrictRequest()
export class ForecastQuery {
  @IntegerField({
    description: 'The number of days to forecast',
    atLeast: 1,
    atMost: FORECAST_DAYS,
    default: FORECAST_DAYS,
  })
  readonly days!: number;

  @IdField({ description: CURSOR, absent: 'null' })
  readonly cursor!: number | null;

  @LimitField()
  readonly limit!: number;
}

export class ForecastItem {
  @ApiProperty({ type: 'string', example: '17' })
  proxy_id!: string;

  @ApiInteger('The rule that applies', 3)
  rule_id!: number;

  @ApiMoment('When the service decides whether to renew. It orders the renewal within minutes')
  at!: Date;

  @ApiMoment('When the rental would end without this renewal', '2026-11-22T12:00:00.000Z')
  date_end!: Date;

  @ApiBoolean('Whether the rental will be renewed', true)
  renewed!: boolean;

  @ApiNullable(RENEWAL_OBSTACLES, 'Why the rental will not be renewed', null)
  reason!: RenewalObstacle | null;

  @ApiInteger('Days', 30)
  period!: number;

  @ApiNullable('string', 'The price in roubles. `null` if it is not known', '25.08')
  price!: string | null;

  @ApiNullableMoment('When the rental would end after this renewal', '2026-12-22T12:00:00.000Z')
  new_date_end!: Date | null;
}

class ForecastSums {
  @ApiInteger('The number of renewals', 12)
  renewals!: number;

  @ApiRoubles('The cost of the renewals, in roubles', '300.96')
  cost!: string;

  @ApiInteger('The number of rentals that will not be renewed', 0)
  not_renewed!: number;
}

export class ForecastDay extends ForecastSums {
  @ApiProperty({ type: 'string', format: 'date', description: 'The day (UTC)', example: '2026-11-21' })
  day!: string;

  @ApiRoubles('Available balance at the end of the day, in roubles', '674.04')
  available!: string;
}

export class ForecastMonth extends ForecastSums {
  @ApiText('The month (UTC)', '2026-11')
  month!: string;
}

export class ForecastReason {
  @ApiProperty({ type: 'string', enum: RENEWAL_OBSTACLES, example: 'balance-short' })
  reason!: RenewalObstacle;

  @ApiInteger('The number of rentals that will not be renewed for this reason', 2)
  rentals!: number;
}

@ApiExtraModels(ForecastDay, ForecastMonth, ForecastReason)
export class ForecastOut extends PageOf(ForecastItem) {
  @ApiMoment('The time of the forecast')
  as_of!: Date;

  @ApiMoment('The end of the forecast', '2027-02-19T12:00:00.000Z')
  until!: Date;

  @ApiRoubles('Current available balance, in roubles', '974.92')
  available!: string;

  @ApiInteger('The number of rented proxies with a rule', 12)
  covered!: number;

  @ApiInteger(
    'The number of rented proxies that have no rule or are excluded from renewals. Their rentals will end',
    0,
  )
  not_covered!: number;

  @ApiProperty({ type: () => ForecastSums, description: 'The totals for the whole forecast' })
  totals!: ForecastSums;

  @ApiListOf(() => ForecastReason, 'The number of rentals that will not be renewed, by reason')
  reasons!: readonly ForecastReason[];

  @ApiListOf(() => ForecastMonth, 'The months in which a renewal is due')
  by_month!: readonly ForecastMonth[];

  @ApiListOf(() => ForecastDay, 'The days on which a renewal is due')
  by_day!: readonly ForecastDay[];

  @ApiNullable('string', {
    format: 'date',
    description:
      'The first day (UTC) on which a rental ends because the balance is too low for its renewal. ' +
      '`null` if the balance covers the whole forecast',
    example: null,
  })
  balance_lasts_until!: string | null;
}
