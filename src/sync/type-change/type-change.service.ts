import { randomUUID } from 'node:crypto';
import { Injectable, Logger } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Clock, messageOf, type ProxyType, ServiceUnavailable } from '../../common';
import { AppConfig } from '../../config';
import { queryRows } from '../../database';
import { RequestsUnderWay } from '../../http';
import { Maintenance, OrderQueries } from '../../orders';
import {
  Deadline,
  type ListedProxy,
  ProviderClosed,
  ProviderOutcomeUnknown,
  ProviderRefused,
  ProviderUnavailable,
  ProxyProvider,
} from '../../provider';
import { ProxiesService, type Proxy, type ProxyOut, ProxyRefunded, toProxyOut } from '../../proxies';
import {
  ProxyEnded,
  ProxyGone,
  ProxyWithdrawn,
  TypeChangeInProgress,
  TypeChangeRefused,
  TypeChangesUnavailable,
  TypeChangeUncertain,
} from '../sync.errors';

/** Lower than most other calls' priority, because customers can request any number of changes. */
const PRIORITY = 'exact';

/** How long a change waits for its rate permits, in addition to its calls' timeouts. */
const PERMITS_MS = 20_000;

const RETRY_AFTER_SECONDS = 5;

/**
 * The provider's listing decides whether a change succeeded, because a response may be lost, and error 30
 * does not prove a failure. The proxy is stored as listed, because its port may change too.
 *
 * A row of `proxy_type_changes` serializes a proxy's changes. Until the row is settled, the stored type is
 * not trusted.
 */
@Injectable()
export class TypeChangeService {
  private readonly logger = new Logger(TypeChangeService.name);

  constructor(
    private readonly dataSource: DataSource,
    private readonly provider: ProxyProvider,
    private readonly proxies: ProxiesService,
    private readonly orders: OrderQueries,
    private readonly maintenance: Maintenance,
    private readonly underWay: RequestsUnderWay,
    private readonly config: AppConfig,
    private readonly clock: Clock,
  ) {}

  /**
   * @throws ProxyNotFound, ProxyRefunded, ProxyWithdrawn, ProxyEnded, ProxyGone, TypeChangeRefused,
   * TypeChangesUnavailable, TypeChangeInProgress, TypeChangeUncertain, TooManyUnderWay, ServiceUnavailable
   */
  change(userId: number, proxyId: string, wanted: ProxyType): Promise<ProxyOut> {
    return this.underWay.run('type', userId, () => this.changeNow(userId, proxyId, wanted));
  }

  private async changeNow(userId: number, proxyId: string, wanted: ProxyType): Promise<ProxyOut> {
    const proxy = await this.proxies.get(userId, proxyId);
    this.assertRented(proxy);
    if (proxy.proxyType === wanted && (await this.isSettled(proxy.id))) {
      return toProxyOut(proxy, this.clock.now());
    }
    await this.maintenance.assertOpen();
    const attempt = await this.begin(proxy.id);
    try {
      const { orderReference, providerProxyId } = await this.orders.getProviderIdentity(proxy.id);
      await this.send(providerProxyId, wanted);
      const listed = await this.find(orderReference, providerProxyId);
      if (listed.type !== wanted && listed.type !== 'auto') throw new TypeChangeUncertain();
      await this.settle(proxy.id, attempt, { ...listed, type: wanted });
    } finally {
      await this.endAttempt(proxy.id, attempt);
    }
    return toProxyOut(await this.proxies.get(userId, proxyId), this.clock.now());
  }

  private assertRented({ refundedAt, withdrawnAt, dateEnd }: Proxy): void {
    if (refundedAt) throw new ProxyRefunded();
    if (withdrawnAt) throw new ProxyWithdrawn();
    if ((dateEnd?.getTime() ?? 0) <= this.clock.now().getTime()) throw new ProxyEnded();
  }

  /** Whether the provider has confirmed the stored type. */
  private async isSettled(proxyId: number): Promise<boolean> {
    const open = await queryRows(
      this.dataSource,
      'SELECT FROM proxy_type_changes WHERE proxy_id = $1 AND settled_at IS NULL',
      [proxyId],
    );
    return open.length === 0;
  }

  /**
   * Replaces an attempt that is overdue, or whose deadline is too far ahead because the clock was set back.
   * Locks the proxy's row to prevent a concurrent refund.
   */
  private async begin(proxyId: number): Promise<string> {
    const attempt = randomUUID();
    const begun = await queryRows(
      this.dataSource,
      `INSERT INTO proxy_type_changes AS change (proxy_id, attempt, attempt_until)
       SELECT id, $2, clock_timestamp() + make_interval(secs => $3)
         FROM proxies WHERE id = $1 AND refunded_at IS NULL FOR SHARE
       ON CONFLICT (proxy_id) DO UPDATE
          SET attempt = excluded.attempt, attempt_until = excluded.attempt_until, settled_at = NULL
        WHERE change.settled_at IS NOT NULL OR change.attempt_until <= clock_timestamp()
           OR change.attempt_until > clock_timestamp() + make_interval(secs => $3)
       RETURNING attempt`,
      [proxyId, attempt, (PERMITS_MS + 2 * this.config.provider.timeoutMs) / 1000],
    );
    if (begun.length === 0) throw new TypeChangeInProgress();
    return attempt;
  }

  /** Returns even if the outcome is unknown, because the listing will show it. */
  private async send(proxyId: string, proxyType: ProxyType): Promise<void> {
    try {
      const deadline = Deadline.after(this.config.provider.timeoutMs);
      await this.provider.setType({ proxyId, proxyType }, { priority: PRIORITY, deadline });
    } catch (error) {
      if (error instanceof ProviderOutcomeUnknown) {
        this.logger.warn(
          `a type change has an unknown outcome, which the listing will show: ${error.message}`,
        );
        return;
      }
      throw this.toRefusal(error);
    }
  }

  private toRefusal(error: unknown): unknown {
    if (error instanceof ProviderRefused) {
      if (error.reason === 'misconfigured') {
        this.logger.error('the provider refuses type changes, because of its key, our address or the method');
        return new TypeChangesUnavailable();
      }
      return error.reason === 'not-found' ? new ProxyGone() : new TypeChangeRefused();
    }
    if (!(error instanceof ProviderUnavailable)) return error;
    const isClosed = error instanceof ProviderClosed;
    return new ServiceUnavailable({
      retryAfterSeconds: isClosed ? error.retryAfterSeconds : RETRY_AFTER_SECONDS,
    });
  }

  /** @throws ProxyGone, TypeChangeUncertain if the listing cannot be read */
  private async find(orderReference: string, providerProxyId: string): Promise<ListedProxy> {
    const isIt = ({ id }: ListedProxy) => id === providerProxyId;
    try {
      const listed = await this.provider.proxiesByReference(orderReference, {
        priority: PRIORITY,
        isEnough: (found) => found.some(isIt),
      });
      const proxy = listed.find(isIt);
      if (proxy) return proxy;
    } catch (error) {
      this.logger.warn(`the outcome of a type change is not known: ${messageOf(error)}`);
      throw new TypeChangeUncertain();
    }
    throw new ProxyGone();
  }

  /** @throws TypeChangeUncertain if another attempt has begun since */
  private async settle(
    proxyId: number,
    attempt: string,
    { host, port, login, password, type }: ListedProxy,
  ): Promise<void> {
    const settled = await queryRows(
      this.dataSource,
      `WITH settled AS (
         UPDATE proxy_type_changes SET settled_at = clock_timestamp()
          WHERE proxy_id = $1 AND attempt = $2 AND settled_at IS NULL
         RETURNING proxy_id
       )
       UPDATE proxies SET host = $3, port = $4, login = $5, password = $6, proxy_type = $7
         FROM settled WHERE proxies.id = settled.proxy_id AND refunded_at IS NULL
       RETURNING proxies.id`,
      [proxyId, attempt, host, port, login, password, type],
    );
    if (settled.length === 0) throw new TypeChangeUncertain();
  }

  /** If this fails, another change can begin only after the timeout. */
  private async endAttempt(proxyId: number, attempt: string): Promise<void> {
    await queryRows(
      this.dataSource,
      `UPDATE proxy_type_changes SET attempt_until = clock_timestamp()
        WHERE proxy_id = $1 AND attempt = $2 AND settled_at IS NULL`,
      [proxyId, attempt],
    ).catch((error: unknown) => this.logger.warn(`a type change could not be ended: ${messageOf(error)}`));
  }
}
