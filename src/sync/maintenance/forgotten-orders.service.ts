import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import type { Money } from '../../common';
import { Conditions, type Queryable, queryRows, refusedBy } from '../../database';
import type { PageRequest } from '../../http';
import { OVERDRAFT } from '../../ledger';
import { type ForgottenOrder, ForgottenOrderRecords, PROXY_OF_ANOTHER, Settlement } from '../../orders';
import type { ProviderProxy } from '../../provider';
import {
  FoundProlongationDecided,
  FoundProlongationNotFound,
  OrderNotAssignable,
  UnmatchedProxiesIncomplete,
  NamedUserFirst,
  TooFewUnmatchedProxies,
} from '../sync.errors';
import type { FoundProlongationOut, FoundProlongationState } from './maintenance.dto';

/** Terms that staff set for a lost order. Null fields are derived from the found proxies or prolongation. */
interface ForgottenTerms {
  readonly period: number | null;
  /** Price that the customer pays for each proxy. */
  readonly price: Money;
  /** Price that the provider charges for each proxy. If null, `price` is used instead. */
  readonly cost: Money | null;
}

type ListedUnmatchedProxy = ProviderProxy & {
  readonly unmatchedProxyId: number;
  readonly provider: string;
  readonly orderReference: string;
  readonly country: string | null;
  readonly version: string | null;
  /** Number of undecided proxies with this order reference. */
  readonly found: number;
};

interface NamedOrder extends Pick<
  ForgottenOrder,
  'batchId' | 'kind' | 'country' | 'version' | 'period' | 'proxyType'
> {
  readonly id: number;
  readonly isClosed: boolean;
}

type FoundProlongation = Pick<ForgottenOrder, 'userId' | 'country' | 'version' | 'proxyType' | 'provider'> & {
  readonly proxyId: number;
  readonly dateEndBefore: Date;
  readonly dateEnd: Date;
  readonly days: number;
};

const FOUND = `
  SELECT found.id, coalesce(resolution, 'open') AS state, proxy_id, proxies.user_id, date_end_before,
         found.date_end, round(extract(epoch FROM found.date_end - date_end_before) / 86400)::integer AS days,
         found_at, resolved_at, found.order_id
    FROM found_prolongations found JOIN proxies ON proxies.id = found.proxy_id`;

const DAY_MS = 86_400_000;

/** Recreates orders lost in a restore. Their idempotency keys are unknown: see `take_forgotten_key.sql`. */
@Injectable()
export class ForgottenOrdersService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly settlement: Settlement,
    private readonly records: ForgottenOrderRecords,
  ) {}

  /**
   * Delivers unmatched proxies as one purchase. Their order reference identifies only the leader of a batch.
   * If that leader still exists, the lost order was another member, so the purchase is added to the leader's
   * batch. If not, the purchase is given the lost leader's id.
   * @param unmatchedProxyId one of the proxies, which the caller has locked
   * @param count `null` for all undecided proxies
   * @throws TooFewUnmatchedProxies, OrderNotAssignable, UnmatchedProxiesIncomplete, NamedUserFirst,
   * InsufficientBalance, ProxyBelongsToAnother
   */
  async deliver(
    unmatchedProxyId: number,
    userId: number,
    { count, period, price, cost }: ForgottenTerms & { readonly count: number | null },
    manager: EntityManager,
  ): Promise<number> {
    const unmatched = await this.lockUnmatchedProxies(unmatchedProxyId, count, manager);
    const [first] = unmatched;
    if (!first || (count && unmatched.length < count)) throw new TooFewUnmatchedProxies();
    const [named] = await queryRows<NamedOrder>(
      manager,
      `SELECT id, batch_id AS "batchId", kind, country, version, period, proxy_type AS "proxyType",
              closed_at IS NOT NULL AS "isClosed"
         FROM orders WHERE order_reference = $1`,
      [first.orderReference],
    );
    if (named && (named.kind !== 'purchase' || !named.isClosed)) throw new OrderNotAssignable();
    const country = named?.country ?? first.country;
    const version = named?.version ?? first.version;
    if (country === null || version === null) throw new UnmatchedProxiesIncomplete();
    const place = named
      ? { id: null, batchId: named.batchId ?? named.id, orderReference: null }
      : await this.placeOfReference(first.orderReference, userId, manager);
    const rented = Math.round((first.dateEnd.getTime() - first.dateStart.getTime()) / DAY_MS);
    const id = await this.putBack(
      {
        ...place,
        userId,
        kind: 'purchase',
        country,
        version,
        period: named?.period ?? period ?? rented,
        count: unmatched.length,
        foundCount: first.found,
        proxyType: named?.proxyType ?? (first.type === 'socks' ? 'socks' : 'http'),
        proxyId: null,
        dateEndBefore: null,
        unitPrice: price,
        unitCost: cost ?? price,
        provider: first.provider,
      },
      manager,
    );
    await refusedBy(PROXY_OF_ANOTHER, () =>
      this.settlement.deliverPurchases(
        place.batchId ?? id,
        { proxies: unmatched },
        { only: [id], queryable: manager },
      ),
    );
    await queryRows(
      manager,
      `UPDATE unmatched_proxies SET resolution = 'assigned', resolved_at = now() WHERE id = ANY ($1)`,
      [unmatched.map((unmatchedProxy) => unmatchedProxy.unmatchedProxyId)],
    );
    return id;
  }

  listProlongations(
    state: FoundProlongationState | null,
    page: PageRequest,
  ): Promise<FoundProlongationOut[]> {
    const conditions = new Conditions();
    conditions.by(state, (name) => `coalesce(resolution, 'open') = ${name}`);
    const statement = `${FOUND} ${conditions.toPageSql(page, 'found.id')}`;
    return queryRows(this.dataSource, statement, conditions.parameters);
  }

  /** @throws FoundProlongationNotFound */
  async getProlongation(id: number, queryable: Queryable = this.dataSource): Promise<FoundProlongationOut> {
    const [found] = await queryRows<FoundProlongationOut>(queryable, `${FOUND} WHERE found.id = $1`, [id]);
    if (!found) throw new FoundProlongationNotFound();
    return found;
  }

  /** @throws FoundProlongationNotFound, FoundProlongationDecided */
  async lockProlongation(id: number, manager: EntityManager): Promise<FoundProlongationOut> {
    await queryRows(manager, 'SELECT FROM found_prolongations WHERE id = $1 FOR UPDATE', [id]);
    const found = await this.getProlongation(id, manager);
    if (found.state !== 'open') throw new FoundProlongationDecided();
    return found;
  }

  /** Stores days beyond the charged period as another open found prolongation. @throws InsufficientBalance */
  async chargeProlongation(
    id: number,
    { period, price, cost }: ForgottenTerms,
    manager: EntityManager,
  ): Promise<void> {
    const [found] = await queryRows<FoundProlongation>(
      manager,
      `SELECT proxies.user_id AS "userId", country, version, proxy_type AS "proxyType", provider,
              proxies.id AS "proxyId", date_end_before AS "dateEndBefore",
              greatest(found.date_end, proxies.date_end) AS "dateEnd",
              round(extract(epoch FROM found.date_end - date_end_before) / 86400)::integer AS days
         FROM found_prolongations found JOIN proxies ON proxies.id = proxy_id WHERE found.id = $1`,
      [id],
    );
    if (!found) throw new FoundProlongationNotFound();
    const { dateEnd, days, ...order } = found;
    const charged = period ?? days;
    const orderId = await this.putBack(
      {
        ...order,
        id: null,
        batchId: null,
        orderReference: null,
        kind: 'prolongation',
        period: charged,
        count: 1,
        foundCount: 1,
        unitPrice: price,
        unitCost: cost ?? price,
      },
      manager,
    );
    await this.settlement.deliverProlongations({ ends: [{ orderId, dateEnd }] }, { queryable: manager });
    await queryRows(
      manager,
      `WITH found AS (
         SELECT id, proxy_id, date_end, found_at, $3::integer < $4::integer AS is_part,
                date_end_before + $3::integer * interval '24 hours' AS part_end
           FROM found_prolongations WHERE id = $1
       ),
       charged AS (
         UPDATE found_prolongations AS discrepancy
            SET resolution = 'charged', resolved_at = now(), order_id = $2,
                date_end = CASE WHEN is_part THEN part_end ELSE found.date_end END
           FROM found WHERE discrepancy.id = found.id
       )
       INSERT INTO found_prolongations (proxy_id, date_end_before, date_end, found_at)
       SELECT proxy_id, part_end, date_end, found_at FROM found WHERE is_part`,
      [id, orderId, charged, days],
    );
  }

  /** Writes off a found prolongation at our expense. A customer's retry of the prolongation is refused. */
  async writeOffProlongation(id: number, manager: EntityManager): Promise<void> {
    const { user_id: userId, proxy_id: proxyId, days } = await this.getProlongation(id, manager);
    await this.records.writeOff({ userId, proxyId, days }, manager);
    await queryRows(
      manager,
      `UPDATE found_prolongations SET resolution = 'written-off', resolved_at = now() WHERE id = $1`,
      [id],
    );
  }

  private putBack(order: ForgottenOrder, manager: EntityManager): Promise<number> {
    return refusedBy(OVERDRAFT, () => this.records.putBackForgotten(order, manager));
  }

  private lockUnmatchedProxies(
    unmatchedProxyId: number,
    count: number | null,
    manager: EntityManager,
  ): Promise<ListedUnmatchedProxy[]> {
    const found =
      'order_reference = (SELECT order_reference FROM unmatched_proxies WHERE id = $1) ' +
      'AND (id = $1 OR resolution IS NULL)';
    return queryRows(
      manager,
      `SELECT id AS "unmatchedProxyId", provider, provider_proxy_id AS id,
              order_reference AS "orderReference", host, port, login, password,
              proxy_type AS type, country, version, date_start AS "dateStart", date_end AS "dateEnd",
              (SELECT count(*)::integer FROM unmatched_proxies WHERE ${found}) AS found
         FROM unmatched_proxies WHERE ${found}
        ORDER BY id <> $1, id LIMIT $2 FOR UPDATE`,
      [unmatchedProxyId, count],
    );
  }

  /** @returns the order id that the reference names; null if that id is taken @throws NamedUserFirst */
  private async placeOfReference(
    orderReference: string,
    userId: number,
    manager: EntityManager,
  ): Promise<Pick<ForgottenOrder, 'id' | 'batchId' | 'orderReference'>> {
    const [named] = await queryRows<{ knownUserId: number | null; freeOrderId: number | null }>(
      manager,
      `SELECT (SELECT id FROM users WHERE id = named.user_id) AS "knownUserId",
              CASE WHEN NOT EXISTS (SELECT FROM orders WHERE id = named.order_id)
                   THEN named.order_id END AS "freeOrderId"
         FROM named_by_reference($1) AS named`,
      [orderReference],
    );
    const { knownUserId = null, freeOrderId = null } = named ?? {};
    if (knownUserId !== null && knownUserId !== userId) throw new NamedUserFirst();
    return { id: freeOrderId, batchId: null, orderReference };
  }
}
