import { Injectable } from '@nestjs/common';
import { IP_VERSIONS, type IpVersion, unitPriceWithMarkup } from '../common';
import {
  type Markup,
  MarkupHistoryService,
  type MarkupRule,
  ruleApplies,
  NEW_RULE_ID,
  type PriceChange,
  type PricedOffer,
} from '../pricing';
import { CatalogStore, countriesKey, PRICE_TABLE_KEY, type PriceTable } from './catalog-store';
import { PricesUnknown } from './catalog.errors';
import type { PreviewedOfferOut, PreviewedPriceOut, PricePreviewOut } from './dto/price-preview.dto';

/** Shows how a change to the price rules affects the stored prices. */
@Injectable()
export class PricePreviewService {
  constructor(
    private readonly history: MarkupHistoryService,
    private readonly store: CatalogStore,
  ) {}

  /**
   * Lists the prices that the change affects: the quotes, and the prices in countries that price rules name.
   * @throws PricesUnknown, InvalidPriceRule, PriceRuleNotFound, PriceRuleEnded
   */
  async preview(change: PriceChange): Promise<PricePreviewOut> {
    const { at, rules, touched, before, after } = await this.history.compare(change);
    const { prices, fetchedAt, sells } = await this.readCatalog();
    const offers = candidates(prices, touched, rules)
      .filter(({ version, country }) => country === null || sells(version, country))
      .filter((offer) => touched.some((rule) => ruleApplies(rule, offer)))
      .map((offer) => {
        const single = prices[offer.version]?.[offer.period] ?? '0';
        return {
          user_id: offer.userId,
          version: offer.version,
          period: offer.period,
          country: offer.country,
          before: toPrice(single, before(offer)),
          after: toPrice(single, after(offer)),
        };
      });
    const changed = offers.filter((offer) => offer.before.unit_price !== offer.after.unit_price).length;
    return {
      at,
      provider_prices_of: fetchedAt,
      changed,
      unchanged_because: changed > 0 ? null : whyUnchanged(offers),
      offers,
    };
  }

  private async readCatalog() {
    const entries = await this.store.read([PRICE_TABLE_KEY, ...IP_VERSIONS.map(countriesKey)]);
    const byKey = new Map(entries.map((entry) => [entry.key, entry]));
    const table = byKey.get(PRICE_TABLE_KEY);
    if (!table) throw new PricesUnknown();
    return {
      prices: table.value as PriceTable,
      fetchedAt: new Date(table.fetchedAt / 1000),
      /** Returns true while the list of countries is unknown. */
      sells: (version: IpVersion, country: string): boolean => {
        const list = byKey.get(countriesKey(version))?.value as readonly string[] | undefined;
        return list?.includes(country) ?? true;
      },
    };
  }
}

function candidates(
  prices: PriceTable,
  touched: readonly MarkupRule[],
  rules: readonly MarkupRule[],
): PricedOffer[] {
  const users = new Set(touched.map(({ userId }) => userId));
  // Ignore the rules of users whom the change does not affect.
  const effective = rules.filter(({ userId }) => userId === null || users.has(userId));
  const countries = new Set([null, ...[...touched, ...effective].map(({ country }) => country)]);
  return [...users].flatMap((userId) =>
    IP_VERSIONS.flatMap((version) =>
      Object.keys(prices[version] ?? {}).flatMap((days) =>
        [...countries].map((country) => ({ userId, version, period: Number(days), country })),
      ),
    ),
  );
}

/** @param offers all offers that the change matches */
function whyUnchanged(offers: readonly PreviewedOfferOut[]): string {
  if (offers.length === 0) return 'The rule does not match any offer';
  const isSetAnew = offers.some(({ before, after }) => before.by !== after.by);
  if (isSetAnew) return 'The new markup results in the same prices';
  const setBy = [...new Set(offers.map(({ after }) => after.by))];
  const rules = setBy.map((by) => (by === 'default' ? 'the default markup' : `price rule ${by}`));
  return `The prices are set by ${rules.join(', ')} (more specific, newer, or cheaper for a country)`;
}

const toPrice = (single: string, { percent, ruleId }: Markup): PreviewedPriceOut => ({
  markup_percent: percent,
  by: ruleId === null ? 'default' : ruleId === NEW_RULE_ID ? 'new' : ruleId,
  unit_price: unitPriceWithMarkup(single, 1, percent).toString(),
});
