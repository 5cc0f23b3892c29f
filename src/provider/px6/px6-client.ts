import { HttpService } from '@nestjs/axios';
import { Injectable } from '@nestjs/common';
import { z } from 'zod';
import { messageOf, jsonOrUndefined } from '../../common';
import { AppConfig } from '../../config';
import { Metrics } from '../../metrics';
import { annotateSpan, inSpan } from '../../tracing';
import { Deadline } from '../deadline';
import { ProviderAccount } from '../provider-account';
import {
  NoPermitInTime,
  ProviderError,
  ProviderOutcomeUnknown,
  ProviderRefused,
  ProviderUnavailable,
  ProviderUnreadable,
  TooManyCalls,
} from '../provider-errors';
import type { CallOptions, CallPriority, ProviderCallRecord, RatePermit } from '../proxy-provider';
import { RatePermits } from '../rate-permits';
import { ApiKey } from './api-key';
import { GuardedTransport } from './guarded-transport';
import { envelope, type Px6Method, refusals, responses } from './px6-responses';

interface RawResponse {
  readonly status: number;
  readonly json: unknown;
}

export interface Px6CallOptions extends CallOptions {
  readonly permit: RatePermit;
  /** Priority for another permit, if the first one expires before the request is written. */
  readonly priority: CallPriority;
  /** A key to try instead of the current one. It may belong to another account. */
  readonly key?: string | undefined;
}

export type MethodResponse<Method extends Px6Method> = z.output<(typeof responses)[Method]>;

const TOO_MANY_CALLS: readonly number[] = [429, 503];
/** Maximum number of rows that a response may contain if the request sets no limit. */
const MOST_ROWS = 1000;

function isTooLong(json: unknown, { limit, count, ids }: Readonly<Record<string, string>>): boolean {
  const { list } = json as { readonly list?: unknown };
  const requested = Number(limit ?? count ?? ids?.split(',').length ?? MOST_ROWS);
  return Object.keys(Object(list)).length > requested;
}

/** Sets logins and passwords to undefined, which JSON omits. This is faster than a copy. */
function withoutSecrets(json: unknown): unknown {
  if (typeof json !== 'object' || json === null) return json;
  if ('user' in json) json.user = undefined;
  if ('pass' in json) json.pass = undefined;
  for (const value of Object.values(json)) if (typeof value === 'object') withoutSecrets(value);
  return json;
}

/** Turns every failure into a ProviderError. No message contains the URL, which includes the API key. */
@Injectable()
export class Px6Client {
  constructor(
    private readonly http: HttpService,
    private readonly config: AppConfig,
    private readonly permits: RatePermits,
    private readonly account: ProviderAccount,
    private readonly apiKey: ApiKey,
    private readonly metrics: Metrics,
  ) {}

  /** The span contains no URL, because the URL includes the API key. */
  call<Method extends Px6Method>(
    method: Method,
    parameters: Readonly<Record<string, string>>,
    options: Px6CallOptions,
  ): Promise<MethodResponse<Method>> {
    return inSpan(`provider.${method}`, { 'provider.method': method }, () =>
      this.sendAndParse(method, parameters, options),
    );
  }

  private async sendAndParse<Method extends Px6Method>(
    method: Method,
    parameters: Readonly<Record<string, string>>,
    options: Px6CallOptions,
  ): Promise<MethodResponse<Method>> {
    const startedAtMs = performance.now();
    const deadline = options.deadline ?? Deadline.after(this.config.provider.timeoutMs);
    let raw: RawResponse | undefined;
    const report = (outcome: ProviderCallRecord['outcome'], error?: unknown) => {
      const durationMs = performance.now() - startedAtMs;
      this.metrics.count('provider_calls_total', { method, outcome });
      this.metrics.observe('provider_call_duration_seconds', { method }, durationMs / 1000);
      annotateSpan({ 'provider.outcome': outcome, ...(raw && { 'http.response.status_code': raw.status }) });
      options.onCall?.({
        method,
        request: parameters,
        outcome,
        httpStatus: raw?.status ?? null,
        response: withoutSecrets(raw?.json) ?? messageOf(error),
        durationMs: Math.round(durationMs),
      });
    };
    try {
      raw = await this.send(method, parameters, deadline, options);
      const response = this.parse(method, parameters, raw, options.key === undefined);
      report('done');
      return response;
    } catch (error) {
      report(error instanceof ProviderError ? error.outcome : 'unknown', error);
      throw error;
    }
  }

  private async send(
    method: Px6Method,
    parameters: Readonly<Record<string, string>>,
    deadline: Deadline,
    { permit, priority, key = this.apiKey.current }: Px6CallOptions,
  ): Promise<RawResponse> {
    const transport = new GuardedTransport(deadline, permit, () =>
      this.permits.waitForPermit(priority, deadline.remainingMs(), true),
    );
    const { baseUrl } = this.config.provider;
    const path = method === 'account' ? '' : `/${method}/?${new URLSearchParams(parameters).toString()}`;
    try {
      // Use axios directly, because HttpService's observable cancels finished calls, doubling their duration.
      const response = await this.http.axiosRef.get<string>(`${baseUrl}/api/${key}${path}`, {
        transport,
        signal: AbortSignal.timeout(Math.ceil(deadline.remainingMs())),
      });
      return { status: response.status, json: jsonOrUndefined(response.data) };
    } catch (error) {
      // Use only the error's code, because the axios error contains the request and therefore the key.
      const code = (error as { code?: unknown }).code;
      const reason = typeof code === 'string' ? code : 'no response';
      if (transport.mayHaveSent()) throw new ProviderOutcomeUnknown(`${method} was sent, then: ${reason}`);
      void transport.givePermitBack();
      if (transport.lacksPermit()) throw new NoPermitInTime();
      throw new ProviderUnavailable(`${method} was not sent: ${reason}`);
    }
  }

  private parse<Method extends Px6Method>(
    method: Method,
    parameters: Readonly<Record<string, string>>,
    { status, json }: RawResponse,
    isOurs: boolean,
  ): MethodResponse<Method> {
    if (TOO_MANY_CALLS.includes(status)) {
      this.permits.pauseAll();
      throw new TooManyCalls(`${method} returned ${status}`, status === 429);
    }
    if (status >= 500) throw new ProviderOutcomeUnknown(`${method} returned ${status}`);
    const { success, data } = envelope.safeParse(json);
    if (!success) {
      throw new ProviderOutcomeUnknown(`${method} returned ${status} without the expected JSON`);
    }
    if (data.status === 'no') {
      const reason = refusals.get(data.error_id);
      if (reason) throw new ProviderRefused(reason);
      throw new ProviderOutcomeUnknown(`${method} returned error ${data.error_id}`);
    }
    if (data.currency !== 'RUB') {
      throw new ProviderOutcomeUnknown(`${method} returned another currency`);
    }
    if (isOurs) {
      if (data.balance !== undefined) this.account.update(data.balance);
      if (data.user_id !== undefined) this.apiKey.recordAccount(data.user_id);
    }
    if (isTooLong(json, parameters)) {
      throw new ProviderUnreadable(`${method} returned more rows than were requested`);
    }
    const response = responses[method].safeParse(json);
    if (!response.success) {
      const name = response.error.issues[0]?.path[0];
      if (name === undefined) throw new ProviderOutcomeUnknown(`${method} returned an incomplete list`);
      throw new ProviderUnreadable(`${method} returned a response whose ${String(name)} cannot be read`);
    }
    return response.data as MethodResponse<Method>;
  }
}
