/** The description of `max_price`. */
export const MAX_PRICE_TEXT =
  'Roubles that the whole order may cost, as text or as a number. When it costs more at the moment at ' +
  'which its price is fixed, it is refused with 409, which names the price, and nothing is charged. Left ' +
  'out or null: any price';

/** The description of `allow_partial`. */
export const ALLOW_PARTIAL_TEXT =
  '`false`: the provider is asked for its stock right before, and the order is refused with 400 when less ' +
  'is left than it needs after the orders that wait before it. Should the provider then deliver fewer ' +
  'than it confirmed all the same, it takes none back: as with `true`, the customer keeps what came and ' +
  'pays its price, and the rest of the money is free again';

/** The description of `dry_run`. */
export const DRY_RUN_TEXT =
  '`true`: everything is checked and nothing is placed or charged; the answer is the price, and what would ' +
  'be refused and why. An Idempotency-Key is looked up, and not used up';
