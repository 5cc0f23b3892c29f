import { ApiProperty } from '@nestjs/swagger';
import { IP_VERSIONS, type IpVersion } from '../../common';
import { ApiInteger, ApiMoment, ApiNullable, ApiRoubles, ApiText } from '../../http';

export class PreviewedPriceOut {
  @ApiText('Percent added to the price of the provider', '12.5000')
  markup_percent!: string;

  @ApiProperty({
    anyOf: [{ type: 'integer' }, { type: 'string', enum: ['new', 'default'] }],
    description: 'The id of a rule, `new` for the rule that is previewed, `default` for MARKUP_PERCENT',
    example: 'new',
  })
  by!: number | 'new' | 'default';

  @ApiRoubles('Roubles for one proxy', '23.52')
  unit_price!: string;
}

export class PreviewedOfferOut {
  @ApiNullable('integer', '`null` for every user without own rules', 42)
  user_id!: number | null;

  @ApiProperty({ type: 'string', enum: IP_VERSIONS, example: '6' })
  version!: IpVersion;

  @ApiInteger('Days', 30)
  period!: number;

  @ApiNullable('string', '`null` for the quote and every country without own rules', null)
  country!: string | null;

  @ApiProperty({ type: () => PreviewedPriceOut })
  before!: PreviewedPriceOut;

  @ApiProperty({ type: () => PreviewedPriceOut })
  after!: PreviewedPriceOut;
}

export class PricePreviewOut {
  @ApiMoment('When the change first takes effect. The prices are those of this moment')
  at!: Date;

  @ApiMoment("When the provider's prices were read")
  provider_prices_of!: Date;

  @ApiInteger('The number of offers whose price changes', 12)
  changed!: number;

  @ApiNullable('string', 'Why no price changes. `null` if one does', null)
  unchanged_because!: string | null;

  @ApiProperty({ type: () => PreviewedOfferOut, isArray: true })
  offers!: readonly PreviewedOfferOut[];
}
