import { Injectable } from '@nestjs/common';
import { mergeMap, Subject } from 'rxjs';
import { TimeLimit } from '../../common';
import { AppConfig } from '../../config';
import { ProxyNotFound } from '../proxies.errors';
import { type SelectedProxy, type Selection, SelectionsService } from '../selection/selections.service';
import { tcpPing } from '../tcp-ping';
import type { PingedProxy } from './ping-proxies.dto';

/** Of a replica, for all requests together. A thousand proxies that do not answer take three rounds. */
const PINGS_AT_ONCE = 400;

/** An answer is promised within ten seconds; the rest is for reading the proxies and for sending it. */
const PINGS_END_AFTER_MS = 9500;

const NOT_TRIED = 'Not tried in time';

/** Pings many proxies for one request. */
@Injectable()
export class ProxyPings {
  private readonly queue = new Subject<() => Promise<void>>();

  constructor(
    private readonly selections: SelectionsService,
    private readonly config: AppConfig,
  ) {
    this.queue.pipe(mergeMap((ping) => ping(), PINGS_AT_ONCE)).subscribe();
  }

  /**
   * Ends after ten seconds, whatever has been reached until then.
   *
   * @param hangUp ends it at once
   * @throws TooManySelected
   */
  async ping(userId: number, selection: Selection, hangUp: AbortSignal): Promise<PingedProxy[]> {
    const limit = new TimeLimit(PINGS_END_AFTER_MS, hangUp);
    try {
      const selected = await this.selections.find(userId, selection);
      return await Promise.all(
        selected.map(async ({ proxyId, proxy }) =>
          proxy
            ? this.pingInTurn(proxy, limit.signal)
            : { proxy_id: proxyId, latency_ms: null, detail: new ProxyNotFound().detail },
        ),
      );
    } finally {
      limit.release();
    }
  }

  private pingInTurn({ id, host, port }: SelectedProxy, end: AbortSignal): Promise<PingedProxy> {
    const answer = { proxy_id: String(id), latency_ms: null, detail: null };
    return new Promise((resolve) => {
      const giveUp = (): void => resolve({ ...answer, detail: NOT_TRIED });
      end.addEventListener('abort', giveUp);
      this.queue.next(async () => {
        end.removeEventListener('abort', giveUp);
        if (end.aborted) return giveUp();
        resolve({
          ...answer,
          latency_ms: await tcpPing(host, Number(port), this.config.proxies.pingTimeoutMs, end),
        });
      });
    });
  }
}
