import type { Response } from 'express';
import type { Money } from '../../../common';

export const MAX_PRICE_TEXT =
  'The highest price of the whole order, in roubles. If the order costs more when its money is held, it is ' +
  'refused with 409, which states the price, and nothing is charged. If omitted or `null`, any price is ' +
  'accepted';

export const ALLOW_PARTIAL_TEXT =
  "With `false`, the provider's stock is read first, and the order is refused with 400 if the stock " +
  'does not cover it and the orders queued before it. If the provider still delivers fewer, it takes ' +
  'none back: as with `true`, the customer keeps the delivered proxies, pays for them, and gets the ' +
  'rest of the money back';

export const DRY_RUN_TEXT =
  'With `true`, the order is checked but not placed or charged. The response contains the price, and each ' +
  'reason for which the order would be refused. An `Idempotency-Key` is looked up, but not used up';

/** Describes the header that {@link nameGuards} sets. */
export const GUARDS_HEADER = {
  'Order-Guards': {
    description:
      'The guards that the service read from this request. Absent if there are none: a misspelt guard is ' +
      'an unknown field, which is ignored',
    schema: { type: 'string' as const, example: 'max_price=25.08, allow_partial=false' },
  },
};

interface Guards {
  readonly max_price: Money | null;
  readonly allow_partial?: boolean;
  readonly dry_run: boolean;
}

/**
 * States in the response which guards were read, so that a script notices a misspelt one: the specified
 * bodies ignore unknown fields.
 */
export function nameGuards(response: Response, guards: Guards): void {
  const named = [
    guards.max_price && `max_price=${guards.max_price.toString()}`,
    guards.allow_partial === false && 'allow_partial=false',
    guards.dry_run && 'dry_run=true',
  ].filter((guard) => typeof guard === 'string');
  if (named.length > 0) response.setHeader('Order-Guards', named.join(', '));
}
