import { Controller, Get, Param, Query, Req } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiParam, ApiTags } from '@nestjs/swagger';
import { type AdmittedRequest, Scopes } from '../auth';
import { IP_VERSION_PATTERN } from '../common';
import { ApiErrorResponse, ApiValidationErrorResponse } from '../http';
import { CatalogService, type Offer, type Quote } from './catalog.service';
import { CountryStock } from './dto/country-stock.dto';
import { PriceQuery } from './dto/price.query';
import { QuoteResponse } from './dto/quote-response.dto';
import { VersionQuery } from './dto/version.query';
import { RecalledAnswers } from './recalled-answers';

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

@ApiTags('Catalog')
@Controller()
export class CatalogController {
  constructor(
    private readonly catalog: CatalogService,
    private readonly recalled: RecalledAnswers,
  ) {}

  @Get('countries')
  @Scopes('countries:read')
  @ApiOperation({
    operationId: 'countries_countries_get',
    summary: 'Countries',
    description: 'The country codes that are on sale for an IP version, sorted.',
  })
  @ApiOkResponse({
    description: 'Successful Response',
    schema: {
      type: 'array',
      items: { type: 'string' },
      title: 'Response Countries Countries Get',
      example: ['de', 'nl', 'ru', 'us'],
    },
  })
  @ApiVersionErrorResponse()
  @ApiUnavailableResponse()
  countries(@Req() request: AdmittedRequest, @Query() { version }: VersionQuery): Promise<readonly string[]> {
    this.recalled.learn(request, () => this.catalog.recallCountries(version));
    return this.catalog.countries(version);
  }

  @Get('countries/:country/count')
  @Scopes('countries:read')
  @ApiOperation({
    operationId: 'count_countries__country__count_get',
    summary: 'Count',
    description: 'How many proxies are in stock in a country. A country that is not on sale has 0.',
  })
  @ApiParam({ name: 'country', schema: { type: 'string', title: 'Country' }, example: 'ru' })
  @ApiOkResponse({ description: 'Successful Response', type: CountryStock })
  @ApiVersionErrorResponse()
  @ApiUnavailableResponse()
  async count(
    @Req() request: AdmittedRequest,
    @Param('country') country: string,
    @Query() { version }: VersionQuery,
  ): Promise<CountryStock> {
    const toStock = (available: number): CountryStock => ({
      country: country.toLowerCase(),
      version,
      available,
    });
    this.recalled.learn(request, () => {
      const available = this.catalog.recallStock(country, version);
      return available === undefined ? undefined : toStock(available);
    });
    return toStock(await this.catalog.stock(country, version));
  }

  @Get('price')
  @Scopes('price:read')
  @ApiOperation({
    operationId: 'price_price_get',
    summary: 'Price',
    description:
      'What an order would cost now, markup included. A quote that is given can be bought, and no order is charged more than its ' +
      'quote. It names no country: an order in a country that is cheaper is charged less.',
  })
  @ApiOkResponse({ description: 'Successful Response', type: QuoteResponse })
  @ApiErrorResponse(
    400,
    'The period is too short for the version, or is not sold',
    'Minimum rental period for IPv6 is 3 days',
    'Unsupported rental period',
  )
  @ApiValidationErrorResponse({
    type: 'less_than_equal',
    loc: ['query', 'count'],
    msg: 'Input should be less than or equal to 1000',
    input: '1001',
    ctx: { le: 1000 },
  })
  @ApiUnavailableResponse()
  async price(@Req() request: AdmittedRequest, @Query() offer: PriceQuery): Promise<QuoteResponse> {
    this.recalled.learn(request, (userId) => {
      const quote = this.catalog.recallQuote(offer, userId);
      return quote && toResponse(quote, offer);
    });
    return toResponse(await this.catalog.quote(offer, request.user.userId), offer);
  }
}

const toResponse = ({ total, unitPrice }: Quote, { period, count }: Offer): QuoteResponse => ({
  price_final: total.toString(),
  price_single: unitPrice.toString(),
  period,
  count,
  currency: 'RUB',
});
