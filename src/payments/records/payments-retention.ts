import { Injectable } from '@nestjs/common';
import { AppConfig } from '../../config';
import { Retention } from '../../work';

/** How long unpaid deposits are kept. Deposits with a payment are accounting data. */
@Injectable()
export class PaymentsRetention {
  constructor(retention: Retention, { retention: { historyDays } }: AppConfig) {
    retention.addOldRows({
      name: 'unpaid_deposits',
      table: 'deposits',
      time: 'created_at',
      days: historyDays,
      removal: `DELETE FROM deposits
                 WHERE id = ANY (ARRAY(SELECT id FROM old)) AND state IN ('canceled', 'expired')
                   AND NOT EXISTS (SELECT FROM payments WHERE deposit_id = deposits.id)`,
    });
  }
}
