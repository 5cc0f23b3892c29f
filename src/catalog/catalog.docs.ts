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
    'The provider cannot be reached, and no copy of its last answer is stored',
    'Service temporarily unavailable',
  );

export const CountriesDocs = () =>
  applyDecorators(
    ApiOperation({
      operationId: 'countries_countries_get',
      summary: 'Countries',
      description: 'The codes of the countries in which proxies of an IP version are on sale, sorted.',
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
      description: 'The number of proxies in stock in a country; 0 for a country that is not on sale.',
    }),
    ApiParam({
      name: 'country',
      description: 'The code of a country, in any case',
      schema: { type: 'string', title: 'Country', example: 'ru' },
    }),
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
        'The price of an order at this moment, markup included. Every quote can be bought, and no order is ' +
        'charged more than its quote. A quote is the same for all countries; an order in a cheaper country ' +
        'is charged less.',
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
