import { Controller, Get, Param, Query, Res } from '@nestjs/common';
import { ApiParam, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { CurrentUserId, Route } from '../auth';
import { ServiceUnavailable } from '../common';
import { disconnection, type ErrorsOfStatus } from '../http';
import { PeriodTooShort, UnsupportedPeriod } from './catalog.errors';
import { CatalogService } from './catalog.service';
import { CountryStock, PriceQuery, PricesResponse, QuoteResponse, VersionQuery } from './dto/catalog.dto';

const UNAVAILABLE: ErrorsOfStatus = [
  'The provider cannot be reached, and no copy of its last response is stored',
  ServiceUnavailable,
];

@ApiTags('Catalog')
@Controller()
export class CatalogController {
  constructor(private readonly catalog: CatalogService) {}

  @Get('countries')
  @Route({
    scope: 'countries:read',
    operationId: 'countries_countries_get',
    summary: 'Countries',
    description: 'The codes of the countries in which proxies of an IP version are on sale, sorted.',
    response: {
      description: 'Successful Response',
      schema: {
        type: 'array',
        items: { type: 'string' },
        title: 'Response Countries Countries Get',
        example: ['de', 'nl', 'ru', 'us'],
      },
    },
    errors: { 503: UNAVAILABLE },
  })
  countries(@Query() { version }: VersionQuery): Promise<readonly string[]> {
    return this.catalog.countries(version);
  }

  @Get('countries/:country/count')
  @Route({
    scope: 'countries:read',
    operationId: 'count_countries__country__count_get',
    summary: 'Count',
    description: 'The number of proxies in stock in a country; 0 for a country that is not on sale.',
    response: CountryStock,
    errors: { 503: UNAVAILABLE },
  })
  @ApiParam({
    name: 'country',
    description: 'A country code, case-insensitive',
    schema: { type: 'string', title: 'Country', example: 'ru' },
  })
  async count(@Param('country') country: string, @Query() { version }: VersionQuery): Promise<CountryStock> {
    const code = country.toLowerCase();
    return { country: code, version, available: await this.catalog.stock(code, version) };
  }

  @Get('prices')
  @Route({
    scope: 'price:read',
    summary: 'List prices',
    description:
      'The current prices of a single proxy, including markup, by version and period. A quote for ' +
      'several proxies is this price times their number. Other periods may also be sold: see `GET ' +
      '/price`.',
    response: PricesResponse,
    errors: { 503: UNAVAILABLE },
  })
  async listPrices(@CurrentUserId() userId: number): Promise<PricesResponse> {
    const prices = await this.catalog.prices(userId);
    return {
      prices: prices.map(({ version, period, price }) => ({
        version,
        period,
        price_single: price.toString(),
      })),
      currency: 'RUB',
    };
  }

  @Get('price')
  @Route({
    scope: 'price:read',
    operationId: 'price_price_get',
    summary: 'Price',
    description:
      'The price of an order at this moment, markup included. Every quote can be bought, and no order ' +
      'is charged more than its quote. A quote is the same for all countries; an order in a cheaper ' +
      'country is charged less.',
    response: QuoteResponse,
    errors: {
      400: [
        'The period is too short for the version, or is not sold',
        new PeriodTooShort('rental', 'IPv6', 3),
        UnsupportedPeriod,
      ],
      503: UNAVAILABLE,
    },
  })
  async price(
    @Query() offer: PriceQuery,
    @CurrentUserId() userId: number,
    @Res({ passthrough: true }) response: Response,
  ): Promise<QuoteResponse> {
    const { total, unitPrice } = await this.catalog.quote(offer, userId, disconnection(response));
    return {
      price_final: total.toString(),
      price_single: unitPrice.toString(),
      period: offer.period,
      count: offer.count,
      currency: 'RUB',
    };
  }
}
