import { Injectable } from '@nestjs/common';
import { AppConfig } from '../../config';
import { Retention } from '../../database';

/** How long the results of trials are kept. */
@Injectable()
export class TrialsRetention {
  constructor(retention: Retention, config: AppConfig) {
    retention.addOldRows({
      name: 'trials',
      table: 'proxy_trials',
      time: 'tried_at',
      days: config.trials.historyDays,
      removal: 'DELETE FROM proxy_trials WHERE id = ANY (ARRAY(SELECT id FROM old))',
    });
  }
}
