import { randomUUID } from 'node:crypto';
import { Injectable, Logger } from '@nestjs/common';
import { DataSource, QueryFailedError } from 'typeorm';
import { messageOf, Money } from '../../common';
import { AppConfig } from '../../config';
import {
  groupedStatement,
  mayHaveCommitted,
  preparedRow,
  preparedRows,
  resolveCommitOutcome,
} from '../../database';
import { annotateSpan, inSpan } from '../../tracing';
import { longestQueueSeconds } from '../longest-order';
import { OrderQueries } from '../order-queries';
import { limitingTokens, type NewOrder, toRow } from './new-order';

/** Returned by `order_refusals.sql`. */
export type PlacementRefusal =
  | 'closed-for-maintenance'
  | 'key-in-use'
  | 'proxy-refunded'
  | 'prolongation-open'
  | 'above-max-price'
  | 'insufficient-balance'
  | 'daily-limit';

/** After `StatementOutcomeUnknown`, the order may or may not be placed. After any other error, it is not. */
export type Placement =
  | { readonly outcome: 'placed'; readonly id: number }
  | { readonly outcome: 'refused'; readonly refusal: PlacementRefusal }
  | { readonly outcome: 'failed'; readonly error: unknown };

type PlacedRow = { readonly position: number } & (
  | { readonly id: number; readonly refusal: null }
  | { readonly id: null; readonly refusal: PlacementRefusal }
);

export interface RenewalOrder extends NewOrder {
  /** The order is placed only if the rental's expiry is still this renewal's `date_end_before`. */
  readonly renewalId: number;
  /** The order is not placed if another rule now applies. */
  readonly ruleId: number;
  /** Maximum time until the order is claimed. */
  readonly waitSeconds: number;
}

export interface RenewalPlacement {
  readonly id: number | null;
  /** Obstacle found by `place_renewals.sql`, or `not-now` if another statement held a required lock. */
  readonly obstacle: string | null;
}

/** An order, and an id that finds the order if its statement's reply is lost. */
interface Attempt {
  readonly order: NewOrder;
  readonly id: string;
}

/** How long a shared statement waits for an account's lock. Short, because other users' orders wait too. */
const SHARED_PATIENCE_MS = 100;

/** Low enough that no order waits long for the others in its statement. */
const GROUP = { maxItems: 100, maxWaitMs: 500 };

/** Places orders. Orders that arrive together share one statement, which returns each outcome. */
@Injectable()
export class OrderPlacement {
  private readonly logger = new Logger(OrderPlacement.name);

  constructor(
    private readonly dataSource: DataSource,
    private readonly queries: OrderQueries,
    private readonly config: AppConfig,
  ) {}

  /** Places a user's orders in sequence, so that a low balance still covers the first ones. Never rejects. */
  async place(orders: readonly NewOrder[]): Promise<Placement[]> {
    const [first] = orders;
    if (!first) return [];
    return inSpan('order.reserve', { 'order.kind': first.kind }, async () => {
      const placements: Placement[] = [];
      for (let done = 0; done < orders.length; done += GROUP.maxItems) {
        const group = orders.slice(done, done + GROUP.maxItems);
        placements.push(...(await this.placeGroup(group.map((order) => ({ order, id: randomUUID() })))));
      }
      const [placement] = placements;
      if (placement?.outcome === 'refused') annotateSpan({ 'order.outcome': placement.refusal });
      annotateSpan({ 'order.ids': placements.flatMap((one) => (one.outcome === 'placed' ? one.id : [])) });
      return placements;
    });
  }

  /** Returns every reason to refuse the order; placing it reports the first. Places and locks nothing. */
  async assess(order: NewOrder): Promise<{ available: Money; refusals: readonly PlacementRefusal[] }> {
    const found = await preparedRow<{ available: string; refusals: PlacementRefusal[] }>(
      this.dataSource,
      `SELECT available, order_refusals(user_id, $2, $3, available, $4, $5, $6, '{}') AS refusals
         FROM accounts WHERE user_id = $1`,
      [
        order.userId,
        order.total.toString(),
        order.maxPrice?.toString() ?? null,
        order.idempotency?.key ?? null,
        order.proxyId,
        limitingTokens(order),
      ],
    );
    return { available: Money.parse(found.available), refusals: found.refusals };
  }

  /** Places all orders in one statement. If its reply is lost, the rows of `renewals` show the outcomes. */
  placeRenewals(orders: readonly RenewalOrder[]): Promise<RenewalPlacement[]> {
    return inSpan('order.reserve', { 'order.kind': 'prolongation' }, async () => {
      const rows = await preparedRows<RenewalPlacement & { position: number }>(
        this.dataSource,
        // Shortens the session's lock timeout, but only while waiting for account locks.
        `WITH usual AS MATERIALIZED (SELECT current_setting('lock_timeout') AS patience),
              shared AS MATERIALIZED (
                SELECT set_config('lock_timeout', '${SHARED_PATIENCE_MS}ms', true) FROM usual),
              locked AS MATERIALIZED (SELECT count(*) FROM shared, LATERAL lock_accounts($2)),
              again AS MATERIALIZED (SELECT set_config('lock_timeout', patience, true) FROM usual, locked)
         SELECT "position", id, obstacle FROM place_renewals((SELECT $1::jsonb FROM again), $2)`,
        [
          JSON.stringify(orders.map((order) => toRow(order, { attempt: randomUUID() }))),
          orders.map(({ userId }) => userId),
        ],
      );
      annotateSpan({ 'order.ids': rows.flatMap(({ id }) => id ?? []) });
      return inPlace(orders, rows);
    });
  }

  private async placeGroup(attempts: readonly Attempt[]): Promise<Placement[]> {
    try {
      return await this.insertSharing(attempts);
    } catch (error) {
      return mayHaveCommitted(error)
        ? this.findPlaced(attempts, error)
        : attempts.map(() => ({ outcome: 'failed', error }));
    }
  }

  /** A single order shares its statement with all orders that arrive at the same time. */
  private async insertSharing(attempts: readonly Attempt[]): Promise<Placement[]> {
    const [attempt, ...others] = attempts;
    if (attempt && others.length === 0) {
      try {
        return [await this.insertTogether(attempt)];
      } catch (error) {
        // Rethrow if orders may have been placed, or if there was no connection: separate statements could
        // not get one either.
        if (!(error instanceof QueryFailedError) || mayHaveCommitted(error)) throw error;
        // Nothing was placed, because one order made the statement fail. Each is now placed separately.
      }
    }
    return this.insert(attempts, null);
  }

  private readonly insertTogether = groupedStatement<Attempt, Placement>(
    (attempts) => this.insert(attempts, SHARED_PATIENCE_MS),
    GROUP,
  );

  /** @param patienceMs maximum wait for an account's lock; null for the default */
  private async insert(attempts: readonly Attempt[], patienceMs: number | null): Promise<Placement[]> {
    const rows = await preparedRows<PlacedRow>(
      this.dataSource,
      'SELECT * FROM place_orders($1, $2, $3, $4)',
      [
        JSON.stringify(attempts.map((attempt) => this.toRow(attempt))),
        attempts.map(({ order }) => order.userId),
        attempts.flatMap(({ order }) => limitingTokens(order) ?? []),
        patienceMs,
      ],
    );
    return inPlace(attempts, rows).map(({ id, refusal }) =>
      refusal === null ? { outcome: 'placed', id } : { outcome: 'refused', refusal },
    );
  }

  /** After a lost reply, finds the orders that were placed. Why the others were not placed is unknown. */
  private async findPlaced(attempts: readonly Attempt[], error: unknown): Promise<Placement[]> {
    try {
      const ids = await resolveCommitOutcome(this.dataSource, error, () =>
        this.queries.findIdsByAttempt(
          attempts.map(({ order, id }) => ({ userId: order.userId, attempt: id })),
        ),
      );
      return attempts.map((attempt) => {
        const id = ids.get(attempt.id);
        return id === undefined ? { outcome: 'failed', error } : { outcome: 'placed', id };
      });
    } catch (unknown) {
      this.logger.error(messageOf(unknown));
      return attempts.map(() => ({ outcome: 'failed', error: unknown }));
    }
  }

  private toRow({ order, id }: Attempt): Record<string, unknown> {
    return toRow(order, { attempt: id, wait_seconds: longestQueueSeconds(this.config) });
  }
}

function inPlace<Row extends { readonly position: number }>(
  orders: readonly unknown[],
  rows: readonly Row[],
): Row[] {
  const byPosition = new Map(rows.map((row) => [row.position, row]));
  return orders.map((_, index) => {
    const row = byPosition.get(index + 1);
    if (!row) throw new Error('place_orders returned no row for an order');
    return row;
  });
}
