import { ApiProperty } from '@nestjs/swagger';
import { IP_VERSION_PATTERN, IP_VERSIONS, type IpVersion } from '../../common';
import { BooleanField, DateTimeField, IntegerField, ObjectField, StringField } from '../../http';
import { ApiItems, ApiNextCursor, ApiNullable, IdField, PageQuery, TextField } from './fields';

const CountryField = () => StringField({ optional: true, pattern: '^[A-Za-z]{2,4}$' });
const PeriodField = () => IntegerField({ optional: true, greaterThan: 0, atMost: 3650 });

/** To which offers a rule applies, and how. What is left out stands for all. */
export class PriceRuleFields {
  @IdField({ optional: true })
  user_id!: number | null;

  @CountryField()
  country!: string | null;

  @StringField({ optional: true, pattern: IP_VERSION_PATTERN })
  version!: IpVersion | null;

  @PeriodField()
  min_period!: number | null;

  @PeriodField()
  max_period!: number | null;

  @StringField({ pattern: String.raw`^\d{1,4}(\.\d{1,4})?$` })
  markup_percent!: string;

  @DateTimeField({ optional: true })
  valid_from!: Date | null;

  @DateTimeField({ optional: true })
  valid_to!: Date | null;
}

export class NewPriceRuleRequest extends PriceRuleFields {
  @IdField({ optional: true })
  replaces!: number | null;

  @TextField()
  reason!: string;
}

export class EndPriceRuleRequest {
  @DateTimeField({ optional: true })
  at!: Date | null;

  @TextField()
  reason!: string;
}

export class PreviewRequest {
  @ObjectField(PriceRuleFields, { optional: true })
  add!: PriceRuleFields | null;

  @IdField({ optional: true })
  end!: number | null;
}

export class PriceRulesQuery extends PageQuery {
  @ApiProperty({ description: 'With those that no longer hold' })
  @BooleanField({ default: false })
  history!: boolean;

  @ApiProperty({ description: 'Those that are for this user alone' })
  @IdField({ optional: true })
  user_id!: number | null;
}

export class WhichQuery {
  @ApiProperty({ description: 'Who would order; without it: anybody' })
  @IdField({ optional: true })
  user_id!: number | null;

  @ApiProperty({ description: 'Of an order; a quote names none' })
  @CountryField()
  country!: string | null;

  @ApiProperty({ description: '6, 4 or 4s (IPv4 shared)' })
  @StringField({ pattern: IP_VERSION_PATTERN, default: '6' })
  version!: IpVersion;

  @ApiProperty({ description: 'Days' })
  @IntegerField({ greaterThan: 0, atMost: 3650 })
  period!: number;

  @ApiProperty({ description: 'When, with its offset, e.g. 2027-01-31T09:00:00Z; without it: now' })
  @DateTimeField({ optional: true })
  at!: Date | null;
}

const EXAMPLE_MOMENT = '2026-11-21T12:00:00.000Z';
const ApiPercent = () =>
  ApiProperty({ type: 'string', description: 'Of the provider’s price', example: '12.5000' });

export class PriceRuleOut {
  @ApiProperty({ type: 'integer', example: 5 })
  id!: number;

  @ApiNullable('integer', { description: 'For this user alone; null: for all', example: 42 })
  user_id!: number | null;

  @ApiNullable('string', {
    description: 'For this country alone, where it is cheaper than the quote; null: for all',
    example: null,
  })
  country!: string | null;

  @ApiNullable('string', { description: '6, 4 or 4s (IPv4 shared); null: for all', example: '6' })
  version!: string | null;

  @ApiNullable('integer', { description: 'Days, itself included; null: from the shortest', example: 30 })
  min_period!: number | null;

  @ApiNullable('integer', { description: 'Days, itself included; null: to the longest', example: null })
  max_period!: number | null;

  @ApiPercent()
  markup_percent!: string;

  @ApiProperty({ type: 'string', format: 'date-time', example: EXAMPLE_MOMENT })
  valid_from!: Date;

  @ApiNullable('string', {
    format: 'date-time',
    description: 'From then on it does not hold; null: until it is ended',
    example: null,
  })
  valid_to!: Date | null;

  @ApiProperty({ type: 'string', format: 'date-time', example: EXAMPLE_MOMENT })
  created_at!: Date;

  @ApiProperty({ type: 'string', description: 'The name and number of who added it', example: 'boris (7)' })
  created_by!: string;

  @ApiProperty({ type: 'string', example: 'Contract 815' })
  reason!: string;

  @ApiNullable('string', {
    format: 'date-time',
    description: 'When its end was written; null also when it was added with its end',
    example: null,
  })
  ended_at!: Date | null;

  @ApiNullable('string', { example: null })
  ended_by!: string | null;

  @ApiNullable('string', { example: null })
  end_reason!: string | null;
}

export class PriceRulesPage {
  @ApiItems(() => PriceRuleOut)
  items!: readonly PriceRuleOut[];

  @ApiNextCursor()
  next_cursor!: number | null;
}

export class HeldMarkupOut {
  @ApiProperty({ type: 'string', format: 'date-time', example: EXAMPLE_MOMENT })
  at!: Date;

  @ApiPercent()
  markup_percent!: string;

  @ApiProperty({
    anyOf: [{ $ref: '#/components/schemas/PriceRuleOut' }, { type: 'null' }],
    description: 'By which it holds; null: MARKUP_PERCENT',
  })
  rule!: PriceRuleOut | null;
}

export class PreviewedPriceOut {
  @ApiPercent()
  markup_percent!: string;

  @ApiProperty({
    anyOf: [{ type: 'integer' }, { type: 'string', enum: ['new', 'default'] }],
    description: 'The number of a rule, the one that is previewed, or MARKUP_PERCENT',
    example: 'new',
  })
  by!: number | 'new' | 'default';

  @ApiProperty({ type: 'string', description: 'Roubles for one proxy', example: '23.52' })
  unit_price!: string;
}

export class PreviewedOfferOut {
  @ApiNullable('integer', { description: 'null: everyone without rules of their own', example: 42 })
  user_id!: number | null;

  @ApiProperty({ type: 'string', enum: IP_VERSIONS, example: '6' })
  version!: string;

  @ApiProperty({ type: 'integer', description: 'Days', example: 30 })
  period!: number;

  @ApiNullable('string', {
    description: 'null: the quote, and every country without rules of its own',
    example: null,
  })
  country!: string | null;

  @ApiProperty({ type: () => PreviewedPriceOut })
  before!: PreviewedPriceOut;

  @ApiProperty({ type: () => PreviewedPriceOut })
  after!: PreviewedPriceOut;
}

export class PricePreviewOut {
  @ApiProperty({
    type: 'string',
    format: 'date-time',
    description: 'When the change is first felt; the prices are those of this moment, as things stand',
    example: EXAMPLE_MOMENT,
  })
  at!: Date;

  @ApiProperty({
    type: 'string',
    format: 'date-time',
    description: 'When the provider named its prices',
    example: EXAMPLE_MOMENT,
  })
  provider_prices_of!: Date;

  @ApiProperty({ type: 'integer', description: 'Offers whose price is another one', example: 12 })
  changed!: number;

  @ApiItems(() => PreviewedOfferOut)
  offers!: readonly PreviewedOfferOut[];
}
