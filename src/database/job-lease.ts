import type { DataSource } from 'typeorm';
import { queryRows } from './sql';

/** How long a run may be silent before another replica takes it over. */
const LEASE_SECONDS = 180;

/** A job that runs on one replica at a time, at most so often, whichever replica it is. */
export class JobLease {
  constructor(
    private readonly dataSource: DataSource,
    private readonly name: string,
  ) {}

  /** True when this process is to run the job now. */
  async take(intervalSeconds: number): Promise<boolean> {
    const taken = await queryRows(
      this.dataSource,
      `INSERT INTO job_runs AS run (name, started_at, leased_until)
       VALUES ($1, now(), now() + make_interval(secs => $3))
       ON CONFLICT (name) DO UPDATE
          SET started_at = now(), finished_at = NULL, leased_until = excluded.leased_until
        WHERE run.leased_until <= now()
           OR (run.finished_at IS NOT NULL AND run.started_at + make_interval(secs => $2) <= now())
       RETURNING name`,
      [this.name, intervalSeconds, LEASE_SECONDS],
    );
    return taken.length > 0;
  }

  /** To be said from time to time by a run that is under way. */
  async renew(): Promise<void> {
    await queryRows(
      this.dataSource,
      `UPDATE job_runs SET leased_until = now() + make_interval(secs => $2) WHERE name = $1`,
      [this.name, LEASE_SECONDS],
    );
  }

  async finish(): Promise<void> {
    await queryRows(
      this.dataSource,
      `UPDATE job_runs SET finished_at = now(), leased_until = 'infinity' WHERE name = $1`,
      [this.name],
    );
  }
}
