import { Injectable } from '@nestjs/common';
import { Retention } from '../../work';

/** Whether a proxy works is of interest while it is rented, and many are checked each few minutes. */
const HISTORY_DAYS = 30;

/** How long the results of trials are kept. */
@Injectable()
export class TrialsRetention {
  constructor(retention: Retention) {
    retention.addOldRows({
      name: 'trials',
      table: 'proxy_trials',
      time: 'tried_at',
      days: HISTORY_DAYS,
      removal: 'DELETE FROM proxy_trials WHERE id = ANY (ARRAY(SELECT id FROM old))',
    });
  }
}
