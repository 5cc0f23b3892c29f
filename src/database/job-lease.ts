import { randomUUID } from 'node:crypto';
import type { DataSource } from 'typeorm';
import { queryRows } from './sql';

/** A run was silent for so long that another replica may have taken the job over. */
export class LeaseLost extends Error {}

/**
 * A job that runs on one replica at a time, at most so often, whichever replica it is. A run that is silent for longer than its lease
 * is taken for dead.
 */
export class JobLease {
  private readonly holder = randomUUID();

  constructor(
    private readonly dataSource: DataSource,
    private readonly name: string,
  ) {}

  /** True when this process is to run the job now. */
  async take({
    intervalSeconds,
    leaseSeconds,
  }: {
    intervalSeconds: number;
    leaseSeconds: number;
  }): Promise<boolean> {
    const taken = await queryRows(
      this.dataSource,
      `INSERT INTO job_runs AS run (name, holder, started_at, lease_seconds, leased_until)
       VALUES ($1, $2, now(), $4, now() + make_interval(secs => $4))
       ON CONFLICT (name) DO UPDATE
          SET holder = excluded.holder, started_at = now(), finished_at = NULL,
              lease_seconds = excluded.lease_seconds, leased_until = excluded.leased_until
        WHERE CASE WHEN run.finished_at IS NULL THEN run.leased_until
                   ELSE run.started_at + make_interval(secs => $3) END <= now()
       RETURNING name`,
      [this.name, this.holder, intervalSeconds, leaseSeconds],
    );
    return taken.length > 0;
  }

  /** To be said by a run before each of its steps. @throws LeaseLost */
  async renew(): Promise<void> {
    const renewed = await queryRows(
      this.dataSource,
      `UPDATE job_runs SET leased_until = now() + make_interval(secs => lease_seconds)
        WHERE name = $1 AND holder = $2 AND finished_at IS NULL AND leased_until > now()
       RETURNING name`,
      [this.name, this.holder],
    );
    if (renewed.length === 0) throw new LeaseLost(`the lease of ${this.name} ran out`);
  }

  async finish(): Promise<void> {
    await queryRows(
      this.dataSource,
      'UPDATE job_runs SET finished_at = now() WHERE name = $1 AND holder = $2',
      [this.name, this.holder],
    );
  }
}
