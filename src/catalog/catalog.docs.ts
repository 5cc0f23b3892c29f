import { applyDecorators } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiParam } from '@nestjs/swagger';
import { IP_VERSION_PATTERN } from '../common';
import { ApiErrorResponse, ApiValidationErrorResponse } from '../http';
import { CountryStock } from './dto/country-stock.dto';
import { QuoteResponse } from './dto/quote-response.dto';

const ApiVersionErrorResponse = () =>
  ApiValidationErrorResponse({
    type: 'string_pattern_mismatch',
    loc: ['query', 'version'],
    msg: `String should match pattern '${IP_VERSION_PATTERN}'`,
    input: '5',
    ctx: { pattern: IP_VERSION_PATTERN },
  });

const ApiUnavailableResponse = () =>
  ApiErrorResponse(
    503,
    'The provider cannot be asked, and there is no local copy of what it last said',
    'Service temporarily unavailable',
  );

export const CountriesDocs = () =>
  applyDecorators(
    ApiOperation({
      operationId: 'countries_countries_get',
      summary: 'Countries',
      description: 'The country codes that are on sale for an IP version, sorted.',
    }),
    ApiOkResponse({
      description: 'Successful Response',
      schema: {
        type: 'array',
        items: { type: 'string' },
        title: 'Response Countries Countries Get',
        example: ['de', 'nl', 'ru', 'us'],
      },
    }),
    ApiVersionErrorResponse(),
    ApiUnavailableResponse(),
  );

export const CountDocs = () =>
  applyDecorators(
    ApiOperation({
      operationId: 'count_countries__country__count_get',
      summary: 'Count',
      description: 'How many proxies are in stock in a country. A country that is not on sale has 0.',
    }),
    ApiParam({ name: 'country', schema: { type: 'string', title: 'Country' }, example: 'ru' }),
    ApiOkResponse({ description: 'Successful Response', type: CountryStock }),
    ApiVersionErrorResponse(),
    ApiUnavailableResponse(),
  );

export const PriceDocs = () =>
  applyDecorators(
    ApiOperation({
      operationId: 'price_price_get',
      summary: 'Price',
      description:
        'What an order would cost now, markup included. A quote that is given can be bought, and no order ' +
        'is charged more than its quote. It names no country: an order in a country that is cheaper is ' +
        'charged less.',
    }),
    ApiOkResponse({ description: 'Successful Response', type: QuoteResponse }),
    ApiErrorResponse(
      400,
      'The period is too short for the version, or is not sold',
      'Minimum rental period for IPv6 is 3 days',
      'Unsupported rental period',
    ),
    ApiValidationErrorResponse({
      type: 'less_than_equal',
      loc: ['query', 'count'],
      msg: 'Input should be less than or equal to 1000',
      input: '1001',
      ctx: { le: 1000 },
    }),
    ApiUnavailableResponse(),
  );
