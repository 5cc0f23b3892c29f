import { Injectable } from '@nestjs/common';
import { AppConfig } from '../config';
import { Retention } from '../work';
import { OrphansService } from './sweep/orphans.service';

/** Removes logins and passwords of orphans after their rental and the replay window. */
@Injectable()
export class InventoryRetention {
  constructor(retention: Retention, orphans: OrphansService, { purchases: { replayDays } }: AppConfig) {
    retention.add('orphan_passwords', async () => ({
      removed: await orphans.forgetCredentials(replayDays),
      next: null,
    }));
  }
}
