import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { findExcessiveRights, queryRows } from '../database';
import { ProxyProvider } from '../provider';
import { WAITING_RENEWALS } from '../renewals';
import { MaintenanceService } from '../sync';
import { StatusFacts } from './status-facts';
import type { StatusOut } from './status.dto';

@Injectable()
export class StatusService {
  private readonly facts: StatusFacts;

  constructor(
    private readonly dataSource: DataSource,
    private readonly maintenance: MaintenanceService,
    provider: ProxyProvider,
  ) {
    this.facts = new StatusFacts(
      (statement, parameters) => queryRows(this.dataSource, statement, parameters),
      provider.name,
    );
  }

  async read(): Promise<StatusOut> {
    const { facts } = this;
    const overview = await facts.overview();
    const orders = await facts.openOrders();
    const balance = await facts.balance();
    const spent = await facts.spentInADay();
    const waiting = await facts.waiting(WAITING_RENEWALS);
    const due = await facts.dueRenewals();
    const jobs = await facts.jobs();
    return {
      at: overview.at,
      provider_balance: balance,
      spent_24_hours: spent,
      runway_hours: runwayHours(balance?.amount, spent),
      orders_waiting: orders.get('reserved')?.count ?? 0,
      oldest_waiting_at: orders.get('reserved')?.oldest ?? null,
      orders_submitting: orders.get('submitting')?.count ?? 0,
      orders_confirming: orders.get('confirming')?.count ?? 0,
      orders_in_review: orders.get('review')?.count ?? 0,
      oldest_in_review_at: orders.get('review')?.oldest ?? null,
      open_unmatched_proxies: overview.openUnmatchedProxies,
      renewals_due: waiting.count,
      oldest_renewal_due_at: waiting.oldest,
      renewals_failed: due
        .filter(({ state }) => state === 'failed')
        .reduce((sum, { count }) => sum + count, 0),
      renewals_paused_at: overview.renewalsPausedAt,
      users_with_paused_renewals: overview.usersWithPausedRenewals,
      maintenance: await this.maintenance.show(),
      catalog: await facts.catalogCopies(),
      jobs: jobs.map(({ name, state, started_at, finished_at, holder, report }) => ({
        name,
        state,
        started_at,
        finished_at,
        holder,
        report,
      })),
      audits: await facts.lastAudits(),
      replicas: await facts.replicas(),
      excessive_database_rights: await findExcessiveRights(this.dataSource),
    };
  }
}

/** Returns how many hours the balance will last at the last day's rate; null if unknown. */
function runwayHours(balance: string | undefined, spent: string): number | null {
  if (balance === undefined || Number(spent) === 0) return null;
  return Math.round((240 * Math.max(0, Number(balance))) / Number(spent)) / 10;
}
