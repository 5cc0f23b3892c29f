import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { queryRows } from '../database';
import { Retention } from '../work';

/** Removes the demand of replicas that were killed while their calls waited for a permit. */
@Injectable()
export class ProviderRetention {
  constructor(dataSource: DataSource, retention: Retention) {
    retention.add('demands', async () => {
      const gone = await queryRows(
        dataSource,
        `DELETE FROM permit_demand WHERE expires_at < now() - interval '1 hour' RETURNING 1`,
      );
      return { removed: gone.length, next: null };
    });
  }
}
