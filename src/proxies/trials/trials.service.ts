import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { AppConfig } from '../../config';
import { queryRow, queryRows } from '../../database';
import { type Page, type PageRequest, readPage, RequestsUnderWay } from '../../http';
import { ProxiesService } from '../proxies.service';
import { type Proxy } from '../proxy';
import { Judge } from './judge';
import { requestThrough } from './request-through';
import type { TrialOut } from './trial-out.dto';
import { ChecksDisabled } from './trials.errors';
import { worksBy } from './verdict';

const SHOWN = `works, reason, exit_address, connect_ms, first_byte_ms, tried_at AS checked_at`;

/** Clients give up after ten seconds, and the judge is checked directly before and after. */
const TRIAL_TIMEOUT_MS = 7000;

type Finding = Omit<TrialOut, 'checked_at' | 'works'>;

/**
 * Trials of proxies: a request through a customer's proxy to the judge shows whether the proxy works. A proxy
 * is reported dead only if the judge was reachable before and after.
 */
@Injectable()
export class TrialsService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly proxies: ProxiesService,
    private readonly judge: Judge,
    private readonly underWay: RequestsUnderWay,
    private readonly config: AppConfig,
  ) {}

  /** @throws ProxyNotFound, ChecksDisabled, TooManyUnderWay */
  async run(userId: number, proxyId: string): Promise<TrialOut> {
    const proxy = await this.proxies.get(userId, proxyId);
    const { url } = this.judge;
    if (url === undefined) throw new ChecksDisabled();
    return this.underWay.run('check', userId, async () => this.store(proxy, await this.tryProxy(proxy, url)));
  }

  /** Newest first. @throws ProxyNotFound */
  async list(userId: number, proxyId: string, page: PageRequest): Promise<Page<TrialOut>> {
    const { id } = await this.proxies.get(userId, proxyId);
    const { items, next_cursor } = await readPage(page, ({ cursor, limit }) =>
      queryRows<TrialOut & { id: number }>(
        this.dataSource,
        `SELECT id, ${SHOWN} FROM proxy_trials
            WHERE proxy_id = $1 AND user_id = $2 AND id < $3 ORDER BY id DESC LIMIT $4`,
        [id, userId, cursor ?? Number.MAX_SAFE_INTEGER, limit],
      ),
    );
    return { items: items.map(({ id: _id, ...trial }) => trial), next_cursor };
  }

  private async tryProxy(proxy: Proxy, judgeUrl: string): Promise<Finding> {
    const family = proxy.version === '6' ? 6 : 4;
    const before = this.judge.isReachable(judgeUrl, family);
    const { url, nonce } = this.judge.question(judgeUrl);
    const timeoutMs = this.config.tuning.trialTimeoutMs ?? TRIAL_TIMEOUT_MS;
    const { connectMs, firstByteMs, result } = await requestThrough(proxy, url, timeoutMs);
    const times = { connect_ms: connectMs, first_byte_ms: firstByteMs };
    const verdict = 'text' in result ? this.judge.read(result.text, nonce) : null;
    if (verdict) {
      this.judge.noteReached(family);
      const reason = verdict.forwarded_for ? 'leaks-forwarded-for' : null;
      return { ...times, reason, exit_address: verdict.address };
    }
    const failure = 'text' in result ? 'wrong-answer' : result.failure;
    const isProven =
      worksBy(failure) === null || ((await before) && (await this.judge.isReachable(judgeUrl, family)));
    return { ...times, reason: isProven ? failure : 'judge-down', exit_address: null };
  }

  /** Stores the result. A working proxy is compared with its previous trial that reached the judge. */
  private async store(proxy: Proxy, finding: Finding): Promise<TrialOut> {
    return queryRow<TrialOut>(
      this.dataSource,
      `WITH last AS (
         SELECT exit_address FROM proxy_trials
          WHERE proxy_id = $1 AND user_id = $2 AND exit_address IS NOT NULL ORDER BY id DESC LIMIT 1
       )
       INSERT INTO proxy_trials (proxy_id, user_id, works, reason, exit_address, connect_ms, first_byte_ms)
       SELECT $1, $2, $3,
              CASE WHEN $3 AND (SELECT exit_address FROM last) <> $5 THEN 'exit-differs' ELSE $4 END,
              $5, $6, $7
       RETURNING ${SHOWN}`,
      [
        proxy.id,
        proxy.userId,
        worksBy(finding.reason),
        finding.reason,
        finding.exit_address,
        finding.connect_ms,
        finding.first_byte_ms,
      ],
    );
  }
}
