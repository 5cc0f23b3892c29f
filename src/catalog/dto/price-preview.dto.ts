import { ApiProperty } from '@nestjs/swagger';
import { IP_VERSIONS, type IpVersion } from '../../common';
import { ApiInteger, ApiMoment, ApiNullable, ApiRoubles, ApiText } from '../../http';

export class PreviewedPriceOut {
  @ApiText("Percentage added to the provider's price", '12.5000')
  markup_percent!: string;

  @ApiProperty({
    anyOf: [{ type: 'integer' }, { type: 'string', enum: ['new', 'default'] }],
    description:
      'The id of the rule that sets the markup, `new` for the previewed rule, or `default` for ' +
      'MARKUP_PERCENT',
    example: 'new',
  })
  by!: number | 'new' | 'default';

  @ApiRoubles('Price of one proxy, in roubles', '23.52')
  unit_price!: string;
}

export class PreviewedOfferOut {
  @ApiNullable(
    'integer',
    'The user who would be charged this price. `null` stands for all users without rules of their own',
    42,
  )
  user_id!: number | null;

  @ApiProperty({ type: 'string', enum: IP_VERSIONS, example: '6' })
  version!: IpVersion;

  @ApiInteger('Days', 30)
  period!: number;

  @ApiNullable(
    'string',
    'The country. `null` stands for the quote and for all countries without rules of their own',
    null,
  )
  country!: string | null;

  @ApiProperty({ type: () => PreviewedPriceOut })
  before!: PreviewedPriceOut;

  @ApiProperty({ type: () => PreviewedPriceOut })
  after!: PreviewedPriceOut;
}

export class PricePreviewOut {
  @ApiMoment('When the change takes effect. All prices are those of this time')
  at!: Date;

  @ApiMoment("When the provider's prices were read")
  provider_prices_of!: Date;

  @ApiInteger('The number of offers whose price changes', 12)
  changed!: number;

  @ApiNullable('string', 'Why no prices change. `null` if any price changes', null)
  unchanged_because!: string | null;

  @ApiProperty({ type: () => PreviewedOfferOut, isArray: true })
  offers!: readonly PreviewedOfferOut[];
}
