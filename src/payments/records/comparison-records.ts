import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { queryRows } from '../../database';

/** Covers late entries in the provider's listings, and differences between its clock and ours. */
const OVERLAP = `interval '1 hour'`;
/** How far the first comparison goes back: earlier payments do not belong to this service. */
const FIRST = `interval '1 day'`;

/** The time up to which the provider's lists were compared. */
@Injectable()
export class ComparisonRecords {
  constructor(private readonly dataSource: DataSource) {}

  /** The start of the next comparison's period, and the database's time before it. */
  async span(provider: string): Promise<{ readonly since: Date; readonly now: Date }> {
    const [span] = await queryRows<{ since: Date; now: Date }>(
      this.dataSource,
      `SELECT coalesce((SELECT compared_to - ${OVERLAP} FROM payment_comparisons WHERE provider = $1),
                       (SELECT min(created_at) - ${OVERLAP} FROM deposits WHERE provider = $1),
                       now() - ${FIRST}) AS since,
              clock_timestamp() AS now`,
      [provider],
    );
    if (!span) throw new Error('the database gave no time');
    return span;
  }

  async complete(provider: string, comparedTo: Date): Promise<void> {
    await queryRows(
      this.dataSource,
      `INSERT INTO payment_comparisons AS last (provider, compared_to) VALUES ($1, $2)
       ON CONFLICT (provider) DO UPDATE SET compared_to = greatest(last.compared_to, excluded.compared_to)`,
      [provider, comparedTo],
    );
  }
}
