import { Controller, Get, Param, Query, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { CurrentUserId, Scopes } from '../auth';
import { disconnection } from '../http';
import { CountDocs, CountriesDocs, PriceDocs } from './catalog.docs';
import { CatalogService } from './catalog.service';
import { CountryStock } from './dto/country-stock.dto';
import { PriceQuery } from './dto/price.query';
import { QuoteResponse } from './dto/quote-response.dto';
import { VersionQuery } from './dto/version.query';

@ApiTags('Catalog')
@Controller()
export class CatalogController {
  constructor(private readonly catalog: CatalogService) {}

  @Get('countries')
  @Scopes('countries:read')
  @CountriesDocs()
  countries(@Query() { version }: VersionQuery): Promise<readonly string[]> {
    return this.catalog.countries(version);
  }

  @Get('countries/:country/count')
  @Scopes('countries:read')
  @CountDocs()
  async count(@Param('country') country: string, @Query() { version }: VersionQuery): Promise<CountryStock> {
    const code = country.toLowerCase();
    return { country: code, version, available: await this.catalog.stock(code, version) };
  }

  @Get('price')
  @Scopes('price:read')
  @PriceDocs()
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
