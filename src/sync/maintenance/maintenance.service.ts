import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { AppConfig } from '../../config';
import { type Queryable, queryRows, sqlList } from '../../database';
import { countOpenOrdersAsPossiblyBought, OPEN_STATES, spacingOfEmptySearchesSeconds } from '../../orders';
import { DatabaseWasRestored, MaintenanceNotOver, NotInMaintenance } from '../sync.errors';
import type { MaintenanceOut, MaintenanceReason } from './maintenance.dto';

/** More ids than are usually issued in a day. */
export const DEFAULT_SKIPPED_IDS = 1_000_000;

/**
 * Open orders may have been sent since the restore point, so all count as possibly bought.
 * @param queryable a transaction
 * @param skippedIds number of ids to skip in each table, more than were issued since the restore point
 */
export async function beginMaintenance(
  queryable: Queryable,
  reason: MaintenanceReason,
  skippedIds = DEFAULT_SKIPPED_IDS,
): Promise<void> {
  const [restarted] = await queryRows<{ reason: MaintenanceReason }>(
    queryable,
    'UPDATE maintenance SET ended_at = now() WHERE ended_at IS NULL RETURNING reason',
  );
  // If staff reported a restore, this reason is kept, even if the server has also changed.
  const known = restarted?.reason === 'restored' ? 'restored' : reason;
  await queryRows(queryable, 'INSERT INTO maintenance (reason) VALUES ($1)', [known]);
  await queryRows(queryable, 'SELECT skip_ids($1)', [skippedIds]);
  await countOpenOrdersAsPossiblyBought(queryable);
}

/** If the server has changed, stores the new one and locks its row. @returns whether it has changed */
export async function storeServer(queryable: Queryable): Promise<boolean> {
  const changed = await queryRows(
    queryable,
    `UPDATE known_server AS known
        SET system_identifier = present.system_identifier, timeline = present.timeline
       FROM present_server() AS present
      WHERE (known.system_identifier, known.timeline) <> (present.system_identifier, present.timeline)
      RETURNING true`,
  );
  return changed.length > 0;
}

type Found = Omit<MaintenanceOut, 'closed' | 'to_be_done'> & { readonly is_swept: boolean };

/** Keeps the service closed until staff have resolved everything that a restore lost. */
@Injectable()
export class MaintenanceService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly config: AppConfig,
  ) {}

  async begin(skippedIds: number, manager: EntityManager): Promise<MaintenanceOut> {
    await beginMaintenance(manager, 'restored', skippedIds);
    await storeServer(manager);
    return this.show(manager);
  }

  /**
   * Reopens the service. First skips all order ids that the provider lists, in case `begin` skipped too few.
   * @param nothingWasLost whether staff assert that the database was not restored to an earlier moment
   * @throws NotInMaintenance, MaintenanceNotOver, DatabaseWasRestored
   */
  async end(nothingWasLost: boolean, manager: EntityManager): Promise<MaintenanceOut> {
    const { closed, reason, to_be_done: left } = await this.show(manager);
    if (!closed) throw new NotInMaintenance();
    if (nothingWasLost && reason === 'restored') throw new DatabaseWasRestored();
    if (!nothingWasLost && left.length > 0) throw new MaintenanceNotOver(left);
    await queryRows(
      manager,
      `SELECT skip_ids(listed.id - last_value + 1000)
         FROM (SELECT max(order_id) AS id
                 FROM unmatched_proxies, named_by_reference(order_reference)) AS listed, pg_sequences
        WHERE schemaname = 'public'
          AND sequencename = 'orders_id_seq' AND listed.id >= last_value`,
    );
    await queryRows(manager, 'UPDATE maintenance SET ended_at = now() WHERE ended_at IS NULL');
    return this.show(manager);
  }

  async show(queryable: Queryable = this.dataSource): Promise<MaintenanceOut> {
    const { settlementDelaySeconds } = this.config.reconciliation;
    const [found] = await queryRows<Found>(
      queryable,
      // The last sweep must begin after all calls and cancellations have taken effect, to find what canceled
      // orders bought. An earlier sweep is required as well, because one sweep may miss a proxy that moves
      // between pages.
      `WITH closed AS (
         SELECT begun_at, reason, swept.last_at AS swept_at,
                greatest(begun_at + make_interval(secs => $1),
                         swept.first_at + make_interval(secs => $2),
                         (SELECT max(closed_at) FROM orders
                           WHERE closed_at >= begun_at AND created_at < begun_at)) AS sweep_counts_from
           FROM maintenance,
                LATERAL (SELECT min(began_at) AS first_at, max(began_at) AS last_at
                           FROM completed_sweeps WHERE began_at BETWEEN begun_at AND now()) AS swept
          WHERE ended_at IS NULL
       )
       SELECT begun_at, reason, swept_at, sweep_counts_from,
              coalesce(swept_at >= sweep_counts_from, false) AS is_swept,
              (SELECT count(*) FROM orders
                WHERE state IN ${sqlList(OPEN_STATES)} AND created_at < begun_at) AS open_orders,
              (SELECT count(*) FROM unmatched_proxies
                WHERE resolution IS NULL AND found_at >= begun_at) AS undecided_unmatched_proxies,
              (SELECT count(*) FROM found_prolongations WHERE resolution IS NULL)
                AS undecided_prolongations,
              (SELECT count(*) FROM proxy_refunds WHERE state = 'staff' AND reason = 'forgotten')
                AS undecided_refunds
         FROM closed`,
      [settlementDelaySeconds, spacingOfEmptySearchesSeconds(settlementDelaySeconds)],
    );
    if (!found) return OPEN;
    const { is_swept: _, ...shown } = found;
    return { closed: true, ...shown, to_be_done: toBeDone(found) };
  }
}

const OPEN: MaintenanceOut = {
  closed: false,
  reason: null,
  begun_at: null,
  swept_at: null,
  sweep_counts_from: null,
  open_orders: 0,
  undecided_unmatched_proxies: 0,
  undecided_prolongations: 0,
  undecided_refunds: 0,
  to_be_done: [],
};

const toBeDone = (found: Found): string[] => [
  ...(found.open_orders > 0 ? [`${found.open_orders} orders from before the restore are unsettled`] : []),
  ...(found.is_swept ? [] : ['no sweep has been complete yet']),
  ...(found.undecided_unmatched_proxies > 0
    ? [`${found.undecided_unmatched_proxies} unmatched proxies are undecided`]
    : []),
  ...(found.undecided_prolongations > 0
    ? [`${found.undecided_prolongations} prolongations found at the provider are undecided`]
    : []),
  ...(found.undecided_refunds > 0
    ? [`${found.undecided_refunds} refunds of missing proxies are undecided`]
    : []),
];
