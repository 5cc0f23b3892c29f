export {
  CountryNotAvailable,
  NotEnoughProxies,
  PricesUnknown,
  PeriodTooShort,
  UnsupportedPeriod,
} from './catalog.errors';
export { CatalogModule } from './catalog.module';
export { CatalogService, type FirstRead, type PriceList, type Quote } from './catalog.service';
export { assertPeriodSold, PERIODS_TEXT, toIpVersion } from './rental-periods';
export { CountryStock, PriceQuery, ProxyCountField, QuoteResponse, VersionQuery } from './dto/catalog.dto';
export { PricePreviewOut } from './dto/price-preview.dto';
export { PricePreviewService } from './price-preview.service';
export { type RenewalOffer, RenewalPrices } from './renewal-prices';
