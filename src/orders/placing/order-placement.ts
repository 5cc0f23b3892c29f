import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { DataSource, QueryFailedError } from 'typeorm';
import { type IpVersion, Money, type ProxyType } from '../../common';
import { AppConfig } from '../../config';
import { groupedStatement, lookUpLost, mayHaveCommitted, preparedRows } from '../../database';
import type { Markup } from '../../pricing';
import { inSpan, noteInSpan } from '../../tracing';
import { longestQueueSeconds } from '../longest-order';
import type { Idempotency } from '../order-keys';
import { OrderQueries } from '../order-queries';
import type { OrderKind } from '../order-states';

export interface NewOrder {
  readonly userId: number;
  readonly kind: OrderKind;
  readonly country: string;
  readonly version: IpVersion;
  /** Days. */
  readonly period: number;
  readonly count: number;
  readonly proxyType: ProxyType;
  /** Of a prolongation. */
  readonly proxyId: number | null;
  readonly unitPrice: Money;
  /** The unit price times the count: what is held. */
  readonly total: Money;
  /** The order is refused when the total is above it; null: it is placed at any price. */
  readonly maxPrice: Money | null;
  readonly markup: Markup;
  readonly provider: string;
  /** What the provider quoted for the whole order: roubles, a decimal string of any precision. */
  readonly providerPrice: string;
  readonly idempotency: Idempotency | null;
  readonly requestId: string | null;
  /** Null: the service itself orders, for a renewal rule. */
  readonly tokenId: number | null;
  /** Roubles that the token's orders may cost in a day; null: no limit. */
  readonly dailyLimit: string | null;
  /** The other tokens whose daily limits the order counts against. */
  readonly limitedBy: readonly number[];
}

/** Why an order was not placed: `order_refusals.sql` decides. */
export type PlacementRefusal =
  | 'recovering'
  | 'key-in-use'
  | 'prolongation-open'
  | 'above-max-price'
  | 'insufficient-balance'
  | 'daily-limit';

/** The id of an order, or why it was not placed. */
export type Placement =
  { readonly id: number; readonly refusal: null } | { readonly id: null; readonly refusal: PlacementRefusal };

/** A prolongation that a renewal rule asks for. */
export interface RenewalOrder extends NewOrder {
  /** The row of `renewals`, which says the end that is moved: the order is placed only while it stands. */
  readonly renewalId: number;
  /** By which it was decided: it is not placed once that is not the rule that holds for its proxy. */
  readonly ruleId: number;
}

/**
 * Why the order of a renewal was not placed: `place_renewals.sql` decides. `superfluous`: the end has moved,
 * or the renewal was placed already.
 */
export type RenewalRefusal =
  | PlacementRefusal
  | 'superfluous'
  | 'rule-off'
  | 'paused'
  | 'user-blocked'
  | 'proxy-withdrawn'
  | 'budget-used-up';

export interface RenewalPlacement {
  /** Null: it was not placed. */
  readonly id: number | null;
  readonly refusal: RenewalRefusal | null;
  /** Whether the order stands in the queue: the last sweep has confirmed the end of its rental. */
  readonly isQueued: boolean;
}

export interface Assessment {
  readonly available: Money;
  readonly refusals: readonly PlacementRefusal[];
}

/** An order with the client-generated id by which it is found when the reply to its statement was lost. */
interface Attempt {
  readonly order: NewOrder;
  readonly id: string;
}

/**
 * How long a statement waits for an account while others share it. Whoever holds an account for longer than
 * that keeps nobody waiting but its own user.
 */
const SHARED_PATIENCE_MS = 100;

/** Few enough that nobody waits long for the others of their statement. */
const GROUP = { maxItems: 100, maxWaitMs: 500 };

/**
 * Places orders: the first step of their life. Orders that come together are
 * placed by one statement, which answers for each of them by itself.
 */
@Injectable()
export class OrderPlacement {
  constructor(
    private readonly dataSource: DataSource,
    private readonly queries: OrderQueries,
    private readonly config: AppConfig,
  ) {}

  /**
   * Places an order and holds its money. It is refunded at its deadline when nothing claims it until then.
   *
   * @throws StatementOutcomeUnknown when it may have been placed, or still may be
   */
  place(order: NewOrder): Promise<Placement> {
    return inSpan('order.reserve', { 'order.kind': order.kind }, async () => {
      const placement = await this.placeTogether({ order, id: randomUUID() });
      noteInSpan(
        placement.id === null ? { 'order.outcome': placement.refusal } : { 'order.ids': [placement.id] },
      );
      return placement;
    });
  }

  /**
   * Every reason for which an order would not be placed now, in the order in which callers are told, and what
   * its user has to spend. Nothing is placed or locked.
   */
  async assess(order: NewOrder): Promise<Assessment> {
    const [found] = await preparedRows<{ available: string; refusals: PlacementRefusal[] }>(
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
    if (!found) throw new Error(`user ${order.userId} has no account`);
    return { available: Money.parse(found.available), refusals: found.refusals };
  }

  /**
   * Places orders of one user in their order, so that the balance goes to the first of them. Many are placed
   * by one statement after the other: what was placed stays placed whatever becomes of the rest.
   */
  placeInTurn(orders: readonly NewOrder[]): Promise<PromiseSettledResult<Placement>[]> {
    return inSpan('order.reserve', {}, async () => {
      const placed = await this.placeGroups(orders);
      const ids = placed.flatMap((one) => (one.status === 'fulfilled' ? (one.value.id ?? []) : []));
      noteInSpan({ 'order.ids': ids });
      return placed;
    });
  }

  private async placeGroups(orders: readonly NewOrder[]): Promise<PromiseSettledResult<Placement>[]> {
    const placed: PromiseSettledResult<Placement>[] = [];
    for (let first = 0; first < orders.length; first += GROUP.maxItems) {
      const attempts = orders
        .slice(first, first + GROUP.maxItems)
        .map((order) => ({ order, id: randomUUID() }));
      const placements = this.insertOrFind(attempts);
      placed.push(
        ...(await Promise.allSettled(attempts.map(async (_, n) => answered((await placements)[n])))),
      );
    }
    return placed;
  }

  /**
   * Places the orders of renewals by one statement, in their order, and marks the renewals as placed. When
   * its reply is lost, the rows of the renewals tell what became of them.
   */
  placeRenewals(orders: readonly RenewalOrder[]): Promise<RenewalPlacement[]> {
    return inSpan('order.reserve', { 'order.kind': 'prolongation' }, async () => {
      const placed = await preparedRows<RenewalPlacement & { position: number }>(
        this.dataSource,
        `SELECT "position", id, refusal, is_queued AS "isQueued" FROM place_renewals($1, $2)`,
        [
          JSON.stringify(
            orders.map((order) => ({
              ...this.toRow({ order, id: randomUUID() }),
              renewal_id: order.renewalId,
              rule_id: order.ruleId,
            })),
          ),
          orders.map(({ userId }) => userId),
        ],
      );
      const byPosition = new Map(placed.map(({ position, ...placement }) => [position, placement]));
      noteInSpan({ 'order.ids': placed.flatMap(({ id }) => id ?? []) });
      return orders.map((_, index) => answered(byPosition.get(index + 1)));
    });
  }

  private readonly placeTogether = groupedStatement<Attempt, Placement>(async (attempts) => {
    try {
      return await this.insert(attempts, SHARED_PATIENCE_MS);
    } catch (error) {
      // There was no connection for the statement, and there would be none for others.
      if (!(error instanceof QueryFailedError)) throw error;
      if (mayHaveCommitted(error)) return this.findPlaced(attempts, error);
      // Nothing was placed, because of one of them: now each succeeds or fails by itself.
      return attempts.map((attempt) => this.placeAlone(attempt));
    }
  }, GROUP);

  private async placeAlone(attempt: Attempt): Promise<Placement> {
    const [placement] = await this.insertOrFind([attempt]);
    return answered(placement);
  }

  /** Waits for the accounts as long as the session does. */
  private async insertOrFind(
    attempts: readonly Attempt[],
  ): Promise<readonly (Placement | Promise<Placement>)[]> {
    try {
      return await this.insert(attempts, null);
    } catch (error) {
      if (!mayHaveCommitted(error)) throw error;
      return this.findPlaced(attempts, error);
    }
  }

  private async insert(attempts: readonly Attempt[], patienceMs: number | null): Promise<Placement[]> {
    const limited = attempts.flatMap(({ order }) => limitingTokens(order) ?? []);
    const placed = await preparedRows<Placement & { position: number }>(
      this.dataSource,
      'SELECT * FROM place_orders($1, $2, $3, $4)',
      [
        JSON.stringify(attempts.map((attempt) => this.toRow(attempt))),
        attempts.map(({ order }) => order.userId),
        limited,
        patienceMs,
      ],
    );
    const byPosition = new Map(placed.map(({ position, ...placement }) => [position, placement]));
    return attempts.map((_, index) => answered(byPosition.get(index + 1)));
  }

  /** The reply was lost: what was not placed was refused, or failed, with an error that nobody can tell. */
  private async findPlaced(attempts: readonly Attempt[], error: unknown): Promise<Promise<Placement>[]> {
    const ids = await lookUpLost(this.dataSource, error, () =>
      this.queries.findIdsByAttempt(attempts.map(({ order, id }) => ({ userId: order.userId, attempt: id }))),
    );
    return attempts.map(async (attempt) => {
      const id = ids.get(attempt.id);
      if (id === undefined) throw error;
      return { id, refusal: null };
    });
  }

  /** As `place_orders.sql` reads it. */
  private toRow({ order, id }: Attempt): Record<string, unknown> {
    return {
      user_id: order.userId,
      kind: order.kind,
      country: order.country,
      version: order.version,
      period: order.period,
      count: order.count,
      proxy_type: order.proxyType,
      proxy_id: order.proxyId,
      unit_price: order.unitPrice.toString(),
      held: order.total.toString(),
      max_price: order.maxPrice?.toString(),
      markup_percent: order.markup.percent,
      price_rule_id: order.markup.ruleId,
      provider: order.provider,
      provider_price: order.providerPrice,
      idempotency_key: order.idempotency?.key,
      request_hash: order.idempotency && `\\x${order.idempotency.requestHash.toString('hex')}`,
      request_id: order.requestId,
      token_id: order.tokenId,
      attempt: id,
      wait_seconds: longestQueueSeconds(this.config, order.kind),
      limited_by: limitingTokens(order),
    };
  }
}

function answered<Answer>(placement: Answer | undefined): Answer {
  if (!placement) throw new Error('place_orders did not answer for an order');
  return placement;
}

/** The tokens whose daily limits an order counts against; null: none. */
const limitingTokens = ({ dailyLimit, tokenId, limitedBy }: NewOrder): number[] | null =>
  dailyLimit === null || tokenId === null ? null : [tokenId, ...limitedBy];
