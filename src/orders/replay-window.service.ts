import { Injectable, Logger } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { AppConfig } from '../config';
import { JobLease } from '../database';
import { BulkRecords } from './bulk/bulk-records';
import { OrderTransitions } from './order-transitions';
import { OrphansService } from './sweep/orphans.service';

/** Whose logins and passwords were removed. */
export interface ReplayWindowReport {
  readonly orders: number;
  readonly orphans: number;
  /** Bulks under whose keys nothing was ordered. */
  readonly bulks: number;
}

/** A batch takes well below a second, so a run that is silent for this long is dead. */
const LEASE_SECONDS = 60;

/**
 * Removes the logins and passwords that are kept beside the customer's list, once nobody can need them: from
 * the kept answers of orders, and from orphans. Bulks that came to nothing go as well.
 */
@Injectable()
export class ReplayWindowService {
  private readonly logger = new Logger(ReplayWindowService.name);
  private readonly lease: JobLease;

  constructor(
    dataSource: DataSource,
    private readonly transitions: OrderTransitions,
    private readonly orphans: OrphansService,
    private readonly bulks: BulkRecords,
    private readonly config: AppConfig,
  ) {
    this.lease = new JobLease(dataSource, 'replay-window');
  }

  /** Does it when it is due and no other replica does it; gives null otherwise. */
  closeWhenDue(intervalSeconds: number): Promise<ReplayWindowReport | null> {
    return this.lease.runWhenDue({ intervalSeconds, leaseSeconds: LEASE_SECONDS }, () => this.close());
  }

  private async close(): Promise<ReplayWindowReport> {
    const { replayDays } = this.config.purchases;
    const report = { orders: 0, orphans: 0, bulks: 0 };
    let place: { ended: string; id: number } | null = { ended: '', id: 0 };
    while (place) {
      await this.lease.renew(report);
      const batch = await this.transitions.forgetCredentials(replayDays, place);
      report.orders += batch.forgotten;
      place = batch.last;
    }
    report.orphans = await this.orphans.forgetCredentials(replayDays);
    for (let more = true; more;) {
      await this.lease.renew(report);
      const { checked, forgotten } = await this.bulks.forgetUnused();
      report.bulks += forgotten;
      more = checked > 0;
    }
    if (report.orders + report.orphans > 0) {
      this.logger.log(
        `logins and passwords were removed: ${report.orders} orders, ${report.orphans} orphans`,
      );
    }
    return report;
  }
}
