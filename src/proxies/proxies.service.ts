import { Injectable } from '@nestjs/common';
import { InjectDataSource, InjectRepository } from '@nestjs/typeorm';
import { DataSource, In, IsNull, MoreThan, Not, Repository } from 'typeorm';
import { Clock } from '../common';
import { AppConfig } from '../config';
import { batchedLookup, preparedRows } from '../database';
import { PROXY_FACTS, type ProxyFacts, type ProxyOut, toProxyOut } from './dto/proxy-out.dto';
import { ProxyNotFound } from './proxies.errors';
import { Proxy } from './proxy.entity';
import { tcpPing } from './tcp-ping';

/** Our own ids: digits, small enough for a bigint column. */
const PROXY_ID = /^[1-9]\d{0,14}$/;

@Injectable()
export class ProxiesService {
  constructor(
    @InjectDataSource() private readonly dataSource: DataSource,
    @InjectRepository(Proxy) private readonly proxies: Repository<Proxy>,
    private readonly config: AppConfig,
    private readonly clock: Clock,
  ) {}

  /** @throws ProxyNotFound for an id that is not one of the user's, of whatever form */
  async get(userId: number, proxyId: string): Promise<Proxy> {
    const proxy = PROXY_ID.test(proxyId)
      ? await this.proxies.findOneBy({ id: Number(proxyId), userId })
      : null;
    if (!proxy) throw new ProxyNotFound();
    return proxy;
  }

  /** What an order delivered, as it is now: the proxies of a purchase, or the one of a prolongation. */
  async ofOrder(order: { id: number; proxyId: number | null }): Promise<ProxyOut[]> {
    const proxies = await (order.proxyId === null ? this.boughtWith(order.id) : this.withId(order.proxyId));
    return this.shown(proxies ?? []);
  }

  /** The callers of a group ask at once. */
  private readonly boughtWith = batchedLookup(async (orderIds: readonly number[]) =>
    groupBy(
      await preparedRows<ProxyFacts & { orderId: number }>(
        this.dataSource,
        `SELECT ${PROXY_FACTS}, order_id AS "orderId" FROM proxies WHERE order_id = ANY ($1) ORDER BY id`,
        [orderIds],
      ),
      ({ orderId }) => orderId,
    ),
  );

  private readonly withId = batchedLookup(async (ids: readonly number[]) =>
    groupBy(
      await preparedRows<ProxyFacts>(
        this.dataSource,
        `SELECT ${PROXY_FACTS} FROM proxies WHERE id = ANY ($1)`,
        [ids],
      ),
      ({ id }) => id,
    ),
  );

  /** The number of a proxy of the user's that works now; undefined when there is none. */
  async findActiveId(userId: number): Promise<string | undefined> {
    const proxy = await this.proxies.findOne({
      select: { id: true },
      where: { userId, dateEnd: MoreThan(this.clock.now()), withdrawnAt: IsNull() },
      order: { id: 'ASC' },
    });
    return proxy?.id.toString();
  }

  /** Of these, those that the provider has taken away, and when that was found. */
  async withdrawals(proxyIds: readonly number[]): Promise<ReadonlyMap<number, Date>> {
    const withdrawn = await this.proxies.find({
      select: { id: true, withdrawnAt: true },
      where: { id: In([...proxyIds]), withdrawnAt: Not(IsNull()) },
    });
    return new Map(withdrawn.flatMap(({ id, withdrawnAt }) => (withdrawnAt ? [[id, withdrawnAt]] : [])));
  }

  private shown(proxies: readonly ProxyFacts[]): ProxyOut[] {
    const now = this.clock.now();
    return proxies.map((proxy) => toProxyOut(proxy, now));
  }

  /** Milliseconds, or null when the proxy cannot be reached. @throws ProxyNotFound */
  async ping(userId: number, proxyId: string): Promise<number | null> {
    const { host, port } = await this.get(userId, proxyId);
    return tcpPing(host, Number(port), this.config.proxies.pingTimeoutMs);
  }
}

function groupBy<Row>(rows: readonly Row[], keyOf: (row: Row) => number): Map<number, Row[]> {
  const groups = new Map<number, Row[]>();
  for (const row of rows) {
    const group = groups.get(keyOf(row));
    if (group) group.push(row);
    else groups.set(keyOf(row), [row]);
  }
  return groups;
}
