import { setTimeout as pause } from 'node:timers/promises';
import { Injectable, Logger } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { inTransaction, queryRow } from '../../database';
import { Jobs } from '../../jobs';
import { beginMaintenance, storeServer } from './maintenance.service';

const FOLLOW_MS = 10_000;
// Longer than the five seconds between a replica's reports. Reports from before a restore cannot mislead this
// check, because they are in an UNLOGGED table, which a restore empties.
const REPORTED_WITHIN_MS = 6000;
const POLL_MS = 250;

/**
 * Closes the service if it starts on another database server or timeline, because a restore may have lost
 * later sales. A failover also changes the timeline, but then running replicas store the new one, and the
 * service stays open.
 */
@Injectable()
export class ServerChange {
  private readonly logger = new Logger(ServerChange.name);

  constructor(
    private readonly dataSource: DataSource,
    jobs: Jobs,
  ) {
    jobs.first(() => this.compare());
    jobs.every('known-server', FOLLOW_MS, () => storeServer(this.dataSource));
  }

  async compare(): Promise<void> {
    if (!(await this.hasChanged())) return;
    if (await this.doReplicasRun()) {
      this.logger.warn('another PostgreSQL server took over while replicas were running');
      return;
    }
    await inTransaction(this.dataSource, async (manager) => {
      // Another replica that is starting may already have begun the maintenance.
      if (!(await storeServer(manager))) return;
      await beginMaintenance(manager, 'server-changed');
      this.logger.error(
        'Closed for maintenance: the PostgreSQL server or its timeline has changed since the last ' +
          'start. The database may have been restored to an earlier point in time. See ' +
          'docs/operations.md (Restoring).',
      );
    });
  }

  private async hasChanged(): Promise<boolean> {
    const { hasChanged } = await queryRow<{ hasChanged: boolean }>(
      this.dataSource,
      `SELECT (known.system_identifier, known.timeline) <> (present.system_identifier, present.timeline)
                AS "hasChanged"
         FROM known_server AS known, present_server() AS present`,
    );
    return hasChanged;
  }

  private async doReplicasRun(): Promise<boolean> {
    const deadlineMs = performance.now() + REPORTED_WITHIN_MS;
    do {
      const { doRun } = await queryRow<{ doRun: boolean }>(
        this.dataSource,
        `SELECT EXISTS (SELECT FROM replica_reports
                         WHERE reported_at > now() - make_interval(secs => $1 / 1000.0)) AS "doRun"`,
        [REPORTED_WITHIN_MS],
      );
      if (doRun) return true;
      await pause(POLL_MS);
    } while (performance.now() < deadlineMs);
    return false;
  }
}
