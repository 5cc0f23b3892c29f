import type { TestService } from './test-service';

/** Has all orders that are being confirmed checked now, rather than when their next check is due. */
export async function checkNow({ owner }: TestService): Promise<void> {
  await owner.query(`UPDATE orders SET next_search_at = now() WHERE state IN ('submitting', 'confirming')`);
}

/** As if the settlement delay were over for all orders that are being confirmed. */
export async function passSettlementDelay({ owner }: TestService): Promise<void> {
  await owner.query(
    `UPDATE orders SET sent_before = sent_before - interval '1 hour', next_search_at = now()
      WHERE state = 'confirming'`,
  );
}
