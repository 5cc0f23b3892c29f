import { ApiProperty } from '@nestjs/swagger';
import { IP_VERSIONS, type IpVersion } from '../common';
import { ApiInteger, ApiListOf, ApiMoment, ApiNullable, ApiRoubles } from '../http';
import { BALANCE_DAYS } from '../renewals';

export class SpentPartOut {
  @ApiProperty({ type: 'string', example: 'ru' })
  country!: string;

  @ApiProperty({ type: 'string', enum: IP_VERSIONS, example: '6' })
  version!: IpVersion;

  @ApiRoubles('Roubles spent today', '25.08')
  today!: string;

  @ApiRoubles('Roubles spent this month', '1254.00')
  this_month!: string;
}

export class SpentOut {
  @ApiRoubles('Roubles spent today: captured less refunded', '25.08')
  today!: string;

  @ApiRoubles('Roubles spent this month: captured less refunded', '1254.00')
  this_month!: string;

  @ApiListOf(
    () => SpentPartOut,
    'Spending by country and version, sorted. Combinations without orders or refunds this month are omitted',
  )
  by!: readonly SpentPartOut[];
}

export class TokenUsageOut {
  @ApiRoubles(
    'Maximum amount that orders placed with the token can spend per day (UTC), in roubles',
    '500.00',
  )
  daily_limit!: string;

  @ApiRoubles(
    "Amount held or charged for the token's orders today, in roubles. Released and refunded amounts " +
      'do not count',
    '125.40',
  )
  used_today!: string;

  @ApiRoubles(
    "The amount that the token's orders can still spend today, in roubles. It is lower than the " +
      'difference if an issuing token has less left',
    '374.60',
  )
  left_today!: string;
}

export class EndingOut {
  @ApiInteger('Number of rentals that end in this period', 2)
  rentals!: number;

  @ApiRoubles('Cost of renewing these rentals, in roubles', '50.16')
  renewal_cost!: string;
}

export class EndingsOut {
  @ApiProperty({ type: () => EndingOut })
  in_24_hours!: EndingOut;

  @ApiProperty({ type: () => EndingOut, description: 'The next 7 days, including the next 24 hours' })
  in_7_days!: EndingOut;

  @ApiProperty({ type: () => EndingOut, description: 'The next 30 days, including the next 7 days' })
  in_30_days!: EndingOut;
}

export class RentalsOut {
  @ApiInteger('Number of rented proxies', 12)
  active!: number;

  @ApiRoubles('Cost of renewing each of these rentals once, in roubles', '300.96')
  renewal_cost!: string;

  @ApiInteger(
    'Number of active proxies without a known price, which the costs do not include: their last period ' +
      'is no longer sold, or the catalog has never been read',
    0,
  )
  unpriced!: number;

  @ApiProperty({ type: () => EndingsOut })
  ending!: EndingsOut;

  @ApiNullable('string', {
    format: 'date',
    description:
      'The first day (UTC) on which the available balance no longer covers all renewals, if every ' +
      'rental is renewed repeatedly, in the order of their ends. `null` if the balance covers the next ' +
      `${BALANCE_DAYS} days`,
    example: '2027-01-14',
  })
  balance_lasts_until!: string | null;
}

export class UsageOut {
  @ApiMoment('The time of these figures')
  as_of!: Date;

  @ApiRoubles('Current available balance, in roubles', '974.92')
  available!: string;

  @ApiRoubles('Amount currently held for open orders, in roubles', '25.08')
  held!: string;

  @ApiProperty({ type: () => SpentOut })
  spent!: SpentOut;

  @ApiNullable(TokenUsageOut, 'The daily limit of the token used for this request. `null` if it has none')
  token!: TokenUsageOut | null;

  @ApiProperty({ type: () => RentalsOut })
  rentals!: RentalsOut;
}
