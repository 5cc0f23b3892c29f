import { Injectable } from '@nestjs/common';
import { AppConfig } from '../config';
import { Retention } from '../work';
import { OrphansService } from './sweep/orphans.service';

/** Logins and passwords of orphans go once nobody can need them. */
@Injectable()
export class InventoryRetention {
  constructor(retention: Retention, orphans: OrphansService, { purchases: { replayDays } }: AppConfig) {
    retention.add('orphan_passwords', async () => ({
      removed: await orphans.forgetCredentials(replayDays),
      next: null,
    }));
  }
}
