import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { AppConfig } from '../../config';
import { queryRow, queryRows } from '../../database';
import { type Page, type PageRequest, readPage, RequestsUnderWay } from '../../http';
import { ProxyRefunded } from '../proxies.errors';
import { ProxiesService } from '../proxies.service';
import { type Proxy } from '../proxy';
import { EchoEndpoint } from './echo-endpoint';
import type { ProxyCheckOut } from './proxy-check-out.dto';
import { ChecksDisabled } from './proxy-checks.errors';
import { type ProxyToCheck, requestThroughProxy } from './request-through-proxy';
import { type ProxyCheckReason, verdictOf } from './verdict';

export type { ProxyToCheck };

const SHOWN = `works, reason, exit_address, connect_ms, first_byte_ms, checked_at`;

/** Shorter than the ten seconds that clients wait, to leave time for direct requests to the echo endpoint. */
const CHECK_TIMEOUT_MS = 7000;

type Result = Omit<ProxyCheckOut, 'checked_at' | 'works'>;

/** `reason` is null if the proxy works. */
export interface ProxyProbe {
  readonly reason: ProxyCheckReason | null;
  /** Whether the proxy accepted the tunnel or, for plain HTTP, the connection. */
  readonly isAccepted: boolean;
}

/** Reports a proxy as dead only if the echo endpoint was reachable before and after the check. */
@Injectable()
export class ProxyChecksService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly proxies: ProxiesService,
    private readonly echo: EchoEndpoint,
    private readonly underWay: RequestsUnderWay,
    private readonly config: AppConfig,
  ) {}

  /** @throws ProxyNotFound, ChecksDisabled, ProxyRefunded, TooManyUnderWay */
  async run(userId: number, proxyId: string): Promise<ProxyCheckOut> {
    const proxy = await this.proxies.get(userId, proxyId);
    const { url } = this.echo;
    if (url === undefined) throw new ChecksDisabled();
    if (proxy.refundedAt) throw new ProxyRefunded();
    return this.underWay.run('check', userId, async () =>
      this.store(proxy, await this.checkProxy(proxy, url)),
    );
  }

  /** Lists the newest check first. @throws ProxyNotFound */
  async list(userId: number, proxyId: string, page: PageRequest): Promise<Page<ProxyCheckOut>> {
    const { id } = await this.proxies.get(userId, proxyId);
    const { items, next_cursor } = await readPage(page, ({ cursor, limit }) =>
      queryRows<ProxyCheckOut & { id: number }>(
        this.dataSource,
        `SELECT id, ${SHOWN} FROM proxy_checks
            WHERE proxy_id = $1 AND user_id = $2 AND id < $3 ORDER BY id DESC LIMIT $4`,
        [id, userId, cursor ?? Number.MAX_SAFE_INTEGER, limit],
      ),
    );
    return { items: items.map(({ id: _id, ...check }) => check), next_cursor };
  }

  private async checkProxy(proxy: Proxy, echoUrl: string): Promise<Result> {
    const family = proxy.version === '6' ? 6 : 4;
    const before = this.echo.isReachable(echoUrl, family);
    const found = await this.attempt(proxy, echoUrl);
    if (found.exit_address !== null) {
      this.echo.recordReached(family);
      return found;
    }
    if (verdictOf(found.reason) === null) return found;
    const isReachable = (await before) && (await this.echo.isReachable(echoUrl, family));
    this.echo.recordReachable(family, isReachable);
    return isReachable ? found : { ...found, reason: 'echo-down' };
  }

  get areEnabled(): boolean {
    return this.echo.url !== undefined;
  }

  /** A failure may be the echo endpoint's, so callers must also probe other proxies. Never rejects. */
  async probe(proxy: ProxyToCheck): Promise<ProxyProbe> {
    const { url } = this.echo;
    return url === undefined ? { reason: 'echo-down', isAccepted: false } : this.attempt(proxy, url);
  }

  private async attempt(proxy: ProxyToCheck, echoUrl: string): Promise<Result & ProxyProbe> {
    const { url, nonce } = this.echo.question(echoUrl);
    const timeoutMs = this.config.tuning.proxyCheckTimeoutMs ?? CHECK_TIMEOUT_MS;
    const { connectMs, isAccepted, firstByteMs, result } = await requestThroughProxy(proxy, url, timeoutMs);
    const progress = { connect_ms: connectMs, isAccepted, first_byte_ms: firstByteMs };
    const verdict = 'text' in result ? this.echo.read(result.text, nonce) : null;
    if (verdict) {
      const reason = verdict.forwarded_for ? 'leaks-forwarded-for' : null;
      return { ...progress, reason, exit_address: verdict.address };
    }
    const failure = 'text' in result ? 'wrong-response' : result.failure;
    return { ...progress, reason: failure, exit_address: null };
  }

  /** Compares the exit address with that of the last check that reached the echo endpoint. */
  private async store(proxy: Proxy, result: Result): Promise<ProxyCheckOut> {
    return queryRow<ProxyCheckOut>(
      this.dataSource,
      `WITH last AS (
         SELECT exit_address FROM proxy_checks
          WHERE proxy_id = $1 AND user_id = $2 AND exit_address IS NOT NULL ORDER BY id DESC LIMIT 1
       )
       INSERT INTO proxy_checks (proxy_id, user_id, works, reason, exit_address, connect_ms, first_byte_ms)
       SELECT $1, $2, $3,
              CASE WHEN $3 AND (SELECT exit_address FROM last) <> $5 THEN 'exit-differs' ELSE $4 END,
              $5, $6, $7
       RETURNING ${SHOWN}`,
      [
        proxy.id,
        proxy.userId,
        verdictOf(result.reason),
        result.reason,
        result.exit_address,
        result.connect_ms,
        result.first_byte_ms,
      ],
    );
  }
}
