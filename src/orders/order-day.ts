/** The day, of UTC, on which an order counts for its token's limit; what is given back later is given back to that day. */
export const ORDER_DAY = `(created_at AT TIME ZONE 'UTC')::date`;
