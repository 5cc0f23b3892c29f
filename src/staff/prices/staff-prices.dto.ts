import { ApiProperty } from '@nestjs/swagger';
import { PricePreviewOut } from '../../catalog';
import { IP_VERSIONS, type IpVersion } from '../../common';
import {
  ApiMoment,
  ApiNullable,
  ApiNullableMoment,
  ApiText,
  BooleanField,
  ChoiceField,
  DateTimeField,
  type FieldOptions,
  IdField,
  IntegerField,
  ObjectField,
  PageOf,
  PageQuery,
  StrictRequest,
  StringField,
  TextField,
} from '../../http';
import type { NewPriceRule } from '../../pricing';
import { ReasonRequest } from '../fields';

const CountryField = (options: FieldOptions = {}) =>
  StringField({ ...options, absent: 'null', pattern: '^[A-Za-z]{2,4}$' });
const PeriodField = (description: string) =>
  IntegerField({ description, absent: 'null', greaterThan: 0, atMost: 3650 });

@StrictRequest()
export class PriceRuleFields {
  @IdField({ description: 'The user to whom the rule applies. Defaults to all users', absent: 'null' })
  user_id!: number | null;

  @CountryField({
    description:
      'The country in which the rule applies if its price is below the quote. Defaults to all countries',
  })
  country!: string | null;

  @ChoiceField(IP_VERSIONS, {
    description: 'The IP version to which the rule applies. Defaults to all versions',
    absent: 'null',
  })
  version!: IpVersion | null;

  @PeriodField('The shortest period in days, inclusive. If omitted, there is no lower limit')
  min_period!: number | null;

  @PeriodField('The longest period in days, inclusive. If omitted, there is no upper limit')
  max_period!: number | null;

  @StringField({
    description: 'The markup in percent, e.g. 12.5',
    pattern: String.raw`^\d{1,4}(\.\d{1,4})?$`,
  })
  markup_percent!: string;

  @DateTimeField({
    description: 'When the rule begins. Defaults to one to two seconds from now',
    absent: 'null',
  })
  valid_from!: Date | null;

  @DateTimeField({
    description: 'When the rule ends, exclusive. If omitted, the rule never ends',
    absent: 'null',
  })
  valid_to!: Date | null;
}

export const toNewPriceRule = (fields: PriceRuleFields): NewPriceRule => ({
  userId: fields.user_id ?? undefined,
  country: fields.country ?? undefined,
  version: fields.version ?? undefined,
  minPeriod: fields.min_period ?? undefined,
  maxPeriod: fields.max_period ?? undefined,
  markupPercent: fields.markup_percent,
  validFrom: fields.valid_from ?? undefined,
  validTo: fields.valid_to ?? undefined,
});

export class NewPriceRuleRequest extends PriceRuleFields {
  @IdField({ description: 'The existing rule that ends when this one begins', absent: 'null' })
  replaces!: number | null;

  @TextField({ description: 'The reason, which is stored with the rule' })
  reason!: string;
}

export class EndPriceRuleRequest extends ReasonRequest {
  @DateTimeField({
    description: 'When the rule ends. Defaults to one to two seconds from now',
    absent: 'null',
  })
  at!: Date | null;
}

@StrictRequest()
export class PreviewRequest {
  @ObjectField(PriceRuleFields, { absent: 'null' })
  add!: PriceRuleFields | null;

  @IdField({ description: 'The rule to end', absent: 'null' })
  end!: number | null;
}

export class PriceRulesQuery extends PageQuery {
  @BooleanField({ description: 'Whether to include ended rules', default: false })
  history!: boolean;

  @IdField({ description: 'Only the rules for this user', absent: 'null' })
  user_id!: number | null;
}

@StrictRequest()
export class ApplyingRuleQuery {
  @IdField({
    description: 'The user who would place the order. Defaults to a user without price rules',
    absent: 'null',
  })
  user_id!: number | null;

  @CountryField({
    description: 'The country of an order. Omit it for a quote, which does not depend on the country',
  })
  country!: string | null;

  @ChoiceField(IP_VERSIONS, { description: '6, 4 or 4s (IPv4 shared)', default: '6' })
  version!: IpVersion;

  @IntegerField({ description: 'Days', example: 30, greaterThan: 0, atMost: 3650 })
  period!: number;

  @DateTimeField({
    description: 'A time with an offset, e.g. 2027-01-31T09:00:00Z. Defaults to now',
    absent: 'null',
  })
  at!: Date | null;
}

const ApiPercent = () => ApiText("Percentage added to the provider's price", '12.5000');

export class PriceRuleOut {
  @ApiProperty({ type: 'integer', example: 5 })
  id!: number;

  @ApiNullable('integer', 'The user to whom the rule applies. `null` if it applies to all users', 42)
  user_id!: number | null;

  @ApiNullable('string', 'The username of that user', 'boris')
  username!: string | null;

  @ApiNullable(
    'string',
    'The country in which the rule applies if its price is below the quote. `null` if it applies in ' +
      'all countries',
    null,
  )
  country!: string | null;

  @ApiNullable('string', '6, 4 or 4s (IPv4 shared). `null` if the rule applies to all versions', '6')
  version!: string | null;

  @ApiNullable('integer', 'The shortest period in days, inclusive. `null` if there is no lower limit', 30)
  min_period!: number | null;

  @ApiNullable('integer', 'The longest period in days, inclusive. `null` if there is no upper limit', null)
  max_period!: number | null;

  @ApiPercent()
  markup_percent!: string;

  @ApiMoment()
  valid_from!: Date;

  @ApiNullableMoment('The end of the rule, exclusive. `null` if none is set', null)
  valid_to!: Date | null;

  @ApiMoment()
  created_at!: Date;

  @ApiText('The name and id of the staff member who added the rule', 'boris (7)')
  created_by!: string;

  @ApiProperty({ type: 'string', example: 'Contract 815' })
  reason!: string;

  @ApiNullableMoment('When the end was set. Also `null` if the rule was added with its end', null)
  ended_at!: Date | null;

  @ApiNullable('string', { example: null })
  ended_by!: string | null;

  @ApiNullable('string', { example: null })
  end_reason!: string | null;
}

export class AddedPriceRuleOut extends PriceRuleOut {
  @ApiNullable(
    PricePreviewOut,
    'The offers that the rule matches, before and after, with the rule that sets each price. `null` ' +
      "if the provider's prices are unknown",
  )
  preview!: PricePreviewOut | null;
}

export class PriceRulesPage extends PageOf(PriceRuleOut) {}

export class HeldMarkupOut {
  @ApiMoment('The time at which the markup applies')
  at!: Date;

  @ApiPercent()
  markup_percent!: string;

  @ApiNullable(PriceRuleOut, 'The rule that sets the markup. `null` if the setting MARKUP_PERCENT does')
  rule!: PriceRuleOut | null;

  @ApiNullable(
    PriceRuleOut,
    "The country's rule, given only if it does not apply because the quote is lower than the rule's price",
  )
  dearer_rule!: PriceRuleOut | null;
}
