import type { TestService } from './test-service';

export async function checkNow({ owner }: TestService): Promise<void> {
  await owner.query(`UPDATE orders SET next_search_at = now() WHERE state IN ('submitting', 'confirming')`);
}

export async function passSettlementDelay({ owner }: TestService): Promise<void> {
  await owner.query(
    `UPDATE orders SET sent_before = sent_before - interval '1 hour', next_search_at = now()
      WHERE state = 'confirming'`,
  );
}
