/** The description of `max_price`. */
export const MAX_PRICE_TEXT =
  'Roubles that the whole order may cost, as text or as a number. When it costs more at the moment at ' +
  'which its price is fixed, it is refused with 409, which names the price, and nothing is charged. Left ' +
  'out or null: any price';
