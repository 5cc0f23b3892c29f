import { Injectable } from '@nestjs/common';
import { ConcurrencyLimit, inSlices, TimeLimit } from '../../common';
import { AppConfig } from '../../config';
import { RequestsUnderWay } from '../../http';
import { type TargetProxy, type BulkTarget, BulkTargetsService } from '../bulk-target/bulk-targets.service';
import { ProxyNotFound } from '../proxies.errors';
import { PING_TIMEOUT_MS, tcpPing } from '../tcp-ping';
import type { PingedProxy } from './ping-proxies.dto';

const PINGS_AT_ONCE = 1000;
/** Maximum number of concurrent pings for one user. A thousand dead proxies then take three rounds. */
const PINGS_OF_A_USER = 400;

/** Pings end after this time, because a response is promised within ten seconds. */
const PINGS_END_AFTER_MS = 9500;

/** Number of sockets to open before other requests may run. Opening them takes a few milliseconds. */
const BEGUN_AT_ONCE = 25;

const NOT_TRIED = 'Not tried in time';
const NOT_CONNECTED = 'The service could not connect';

@Injectable()
export class ProxyPings {
  private readonly turns = new ConcurrencyLimit<number>(PINGS_AT_ONCE, PINGS_OF_A_USER);

  constructor(
    private readonly targets: BulkTargetsService,
    private readonly underWay: RequestsUnderWay,
    private readonly config: AppConfig,
  ) {}

  /** Returns the results that are available within ten seconds. @throws TooManyTargets, TooManyUnderWay */
  ping(userId: number, target: BulkTarget, hangUp: AbortSignal): Promise<PingedProxy[]> {
    return this.underWay.run('ping', userId, () => this.pingAll(userId, target, hangUp));
  }

  private async pingAll(userId: number, target: BulkTarget, hangUp: AbortSignal): Promise<PingedProxy[]> {
    const limit = new TimeLimit(PINGS_END_AFTER_MS, hangUp);
    try {
      const targets = await this.targets.find(userId, target);
      const pings: Promise<PingedProxy>[] = [];
      for await (const some of inSlices(targets, BEGUN_AT_ONCE)) {
        pings.push(
          ...some.map(async ({ proxyId, proxy }) =>
            proxy
              ? this.pingInTurn(userId, proxy, limit.signal)
              : { proxy_id: proxyId, latency_ms: null, detail: new ProxyNotFound().detail },
          ),
        );
      }
      return await Promise.all(pings);
    } finally {
      limit.release();
    }
  }

  private async pingInTurn(
    userId: number,
    { id, host, port }: TargetProxy,
    end: AbortSignal,
  ): Promise<PingedProxy> {
    const timeoutMs = this.config.tuning.pingTimeoutMs ?? PING_TIMEOUT_MS;
    const ping = () => tcpPing(host, Number(port), timeoutMs, end);
    const result = await this.turns.run(userId, ping, end).catch(() => NOT_CONNECTED);
    if (typeof result === 'number') return { proxy_id: String(id), latency_ms: result, detail: null };
    // An attempt cut short by the time limit proves nothing about the proxy.
    return { proxy_id: String(id), latency_ms: null, detail: end.aborted ? NOT_TRIED : result };
  }
}
