import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { DataSource, In, IsNull, MoreThan, Not, Repository } from 'typeorm';
import { Clock } from '../common';
import { AppConfig } from '../config';
import { batchedLookup, preparedRows } from '../database';
import { PROXY_COLUMNS, type ProxyFields, type ProxyOut, toProxyOut } from './dto/proxy-out.dto';
import { ProxyNotFound } from './proxies.errors';
import { Proxy } from './proxy.entity';
import { PING_TIMEOUT_MS, tcpPing } from './tcp-ping';

/** An id of ours: digits, few enough for a bigint column. */
export const PROXY_ID = /^[1-9]\d{0,14}$/;

@Injectable()
export class ProxiesService {
  constructor(
    private readonly dataSource: DataSource,
    @InjectRepository(Proxy) private readonly proxies: Repository<Proxy>,
    private readonly config: AppConfig,
    private readonly clock: Clock,
  ) {}

  /** @throws ProxyNotFound unless the id is that of a proxy of the user, also when it is no number */
  async get(userId: number, proxyId: string): Promise<Proxy> {
    const proxy = PROXY_ID.test(proxyId)
      ? await this.proxies.findOneBy({ id: Number(proxyId), userId })
      : null;
    if (!proxy) throw new ProxyNotFound();
    return proxy;
  }

  /** What an order delivered, as it is now: the proxies of a purchase, or the one proxy of a prolongation. */
  async ofOrder(order: { id: number; proxyId: number | null }): Promise<ProxyOut[]> {
    const proxies = await (order.proxyId === null
      ? this.lookUpByOrder(order.id)
      : this.lookUpById(order.proxyId));
    const now = this.clock.now();
    return (proxies ?? []).map((proxy) => toProxyOut(proxy, now));
  }

  /** Batched, because the requests of a batch of orders are answered at the same time. */
  private readonly lookUpByOrder = batchedLookup(async (orderIds: readonly number[]) => {
    const rows = await preparedRows<ProxyFields & { orderId: number }>(
      this.dataSource,
      `SELECT ${PROXY_COLUMNS}, order_id AS "orderId" FROM proxies WHERE order_id = ANY ($1) ORDER BY id`,
      [orderIds],
    );
    const byOrder = new Map<number, ProxyFields[]>(orderIds.map((id) => [id, []]));
    for (const row of rows) byOrder.get(row.orderId)?.push(row);
    return byOrder;
  });

  private readonly lookUpById = batchedLookup(async (ids: readonly number[]) => {
    const rows = await preparedRows<ProxyFields>(
      this.dataSource,
      `SELECT ${PROXY_COLUMNS} FROM proxies WHERE id = ANY ($1)`,
      [ids],
    );
    return new Map(rows.map((row) => [row.id, [row]]));
  });

  /** The user's first proxy that works now. */
  findActive(userId: number): Promise<Proxy | null> {
    return this.proxies.findOne({
      where: { userId, dateEnd: MoreThan(this.clock.now()), withdrawnAt: IsNull() },
      order: { id: 'ASC' },
    });
  }

  /** When the provider was found to have withdrawn proxies, by their ids. The others are left out. */
  async withdrawals(proxyIds: readonly number[]): Promise<ReadonlyMap<number, Date>> {
    const withdrawn = await this.proxies.find({
      select: { id: true, withdrawnAt: true },
      where: { id: In([...proxyIds]), withdrawnAt: Not(IsNull()) },
    });
    return new Map(withdrawn.flatMap(({ id, withdrawnAt }) => (withdrawnAt ? [[id, withdrawnAt]] : [])));
  }

  /** Milliseconds to a TCP connection; null when the proxy cannot be reached. @throws ProxyNotFound */
  async ping(userId: number, proxyId: string): Promise<number | null> {
    const { host, port } = await this.get(userId, proxyId);
    return tcpPing(host, Number(port), this.config.tuning.pingTimeoutMs ?? PING_TIMEOUT_MS);
  }
}
