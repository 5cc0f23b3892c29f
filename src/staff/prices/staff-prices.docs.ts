import { applyDecorators } from '@nestjs/common';
import { ApiQuery } from '@nestjs/swagger';
import { PricePreviewOut } from '../../catalog';
import { LIMIT_TOO_LARGE, missing, notAnInteger } from '../../http';
import { NOT_FOR_ONESELF, notFound, StaffDocs } from '../staff-docs';
import {
  EndPriceRuleRequest,
  HeldMarkupOut,
  NewPriceRuleRequest,
  PreviewRequest,
  PriceRuleOut,
  PriceRulesPage,
} from './staff-prices.dto';

const INVALID_TIMES = 'A change begins 1 s from now or later, and ends after it has begun';
const INVALID_PERIODS = 'The periods must be whole numbers from 1 to 3650, the first not above the last';
const ENDED = 'The price rule has been ended already, or ends sooner by itself';
const TOO_LATE =
  'The change took too long for all replicas to know it in time, and was not made: ' +
  'try again, or name a later moment';

const PREVIEWED = {
  at: '2026-11-21T12:00:02.000Z',
  provider_prices_of: '2026-11-21T11:58:00.000Z',
  changed: 1,
  unchanged_because: null,
  offers: [
    {
      user_id: 42,
      version: '6',
      period: 30,
      country: null,
      before: { markup_percent: '20.0000', by: 'default', unit_price: '8.36' },
      after: { markup_percent: '12.5000', by: 'new', unit_price: '7.84' },
    },
  ],
} satisfies Record<keyof PricePreviewOut, unknown>;

export const ListPriceRulesDocs = () =>
  StaffDocs({
    summary: 'List price rules',
    description:
      'For whoever makes the prices: the price rules in force and those to come, of all users or of one, ' +
      'newest first. With `history`, also those that have ended.',
    answer: { description: 'A page of rules, newest first', type: PriceRulesPage },
    invalid: LIMIT_TOO_LARGE,
  });

export const FindMarkupDocs = () =>
  applyDecorators(
    StaffDocs({
      summary: 'Show which markup applies',
      description:
        'For support, when a customer asks why a price is what it is: the markup of an offer, now or at ' +
        'another time, and the rule that sets it. A quote names no country. For a time to come, the ' +
        'answer is what the present rules say of it.',
      answer: { description: 'The markup', type: HeldMarkupOut },
      errors: { 404: notFound('user') },
      invalid: missing('query', 'period'),
    }),
    ApiQuery({ name: 'period', description: 'Days', example: 30 }),
  );

export const ReadPriceRuleDocs = () =>
  StaffDocs({
    summary: 'Show a price rule',
    description:
      'For whoever follows up an order or a record of the audit log: a price rule, with who added and ' +
      'ended it and why.',
    answer: { description: 'The rule', type: PriceRuleOut },
    errors: { 404: notFound('price rule') },
    invalid: notAnInteger('rule_id', 'first'),
  });

export const AddPriceRuleDocs = () =>
  StaffDocs({
    summary: 'Add a price rule',
    description:
      'For whoever makes the prices; preview the change first. A field that is left out stands for all. ' +
      'Of the rules that match an offer, the most specific one applies: by user, then by country, version ' +
      'and the fewest periods, then the newest. Without `valid_from` the rule begins in one or two ' +
      'seconds. It begins at the same moment on every replica, and the rule that it `replaces` ends then. ' +
      'A rule for a country applies where it is cheaper than the quote.',
    body: NewPriceRuleRequest,
    status: 201,
    answer: { description: 'The rule', type: PriceRuleOut },
    errors: {
      400: ['Nothing was changed', INVALID_TIMES, INVALID_PERIODS],
      403: NOT_FOR_ONESELF,
      404: notFound('price rule', 'user'),
      409: [
        'Nothing was changed',
        ENDED,
        TOO_LATE,
        'There are 10000 price rules that have not ended: end some first',
      ],
    },
    invalid: missing('body', 'markup_percent'),
  });

export const PreviewPricesDocs = () =>
  StaffDocs({
    summary: 'Preview a change of the price rules',
    description:
      'For whoever makes the prices, before they change them: what one proxy would cost before and after, ' +
      'for every version and period on sale that is affected by a rule to `add`, a rule to `end`, or ' +
      'both. Changes nothing.',
    body: PreviewRequest,
    examples: {
      add: { add: { country: 'ru', markup_percent: '12.5' } },
      end: { end: 5 },
      replacement: { add: { user_id: 42, markup_percent: '10' }, end: 5 },
    },
    answer: { description: 'The prices before and after', type: PricePreviewOut, example: PREVIEWED },
    errors: {
      400: [
        'The change is not possible',
        INVALID_TIMES,
        INVALID_PERIODS,
        'Name a rule to add, one to end, or both',
      ],
      404: notFound('price rule', 'user'),
      409: ['There is nothing to compare', ENDED],
      503: ['Not known yet', 'The provider has not named its prices yet: ask for a price first'],
    },
    invalid: missing('body', 'add', 'markup_percent'),
  });

export const EndPriceRuleDocs = () =>
  StaffDocs({
    summary: 'End a price rule',
    description:
      'For whoever makes the prices: ends a rule at the given time, or else in one or two seconds. A rule ' +
      'that has not begun by then never applies. The end of a rule is set once.',
    body: EndPriceRuleRequest,
    answer: { description: 'The rule', type: PriceRuleOut },
    errors: {
      400: ['Nothing was changed', INVALID_TIMES],
      403: NOT_FOR_ONESELF,
      404: notFound('price rule'),
      409: ['Nothing was changed', ENDED, TOO_LATE],
    },
    invalid: missing('body', 'reason'),
  });
