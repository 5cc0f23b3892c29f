import { Injectable } from '@nestjs/common';
import { Retention } from '../../work';

/** Results matter only while a proxy is rented, and many proxies are checked every few minutes. */
const HISTORY_DAYS = 30;

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
