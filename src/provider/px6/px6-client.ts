import { HttpService } from '@nestjs/axios';
import { Injectable } from '@nestjs/common';
import { firstValueFrom } from 'rxjs';
import { z } from 'zod';
import { messageOf } from '../../common';
import { AppConfig } from '../../config';
import { CallRate, NoPermitInTime } from '../call-rate';
import { Deadline } from '../deadline';
import { ProviderAccount } from '../provider-account';
import { ProviderOutcomeUnknown, ProviderRefused, ProviderUnavailable } from '../provider-errors';
import type { CallPriority, ProviderCallOptions, ProviderCallRecord, RatePermit } from '../proxy-provider';
import { GuardedTransport } from './guarded-transport';
import { answers, envelope, type Px6Method, refusals } from './px6-answers';

interface RawAnswer {
  readonly status: number;
  /** Undefined when it is none. */
  readonly json: unknown;
}

export interface Px6CallOptions extends ProviderCallOptions {
  readonly permit: RatePermit;
  /** Of the wait for another permit, when the first has passed before the request could be written. */
  readonly priority: CallPriority;
}

/** HTTP 429, or 503 in its place: calls were too many, of ours or of others with the same key. */
export class TooManyCalls extends ProviderOutcomeUnknown {}

const TOO_MANY_CALLS: readonly number[] = [429, 503];

/** Fields of an answer that are the customer's secrets. */
const SECRET_FIELDS = new Set(['user', 'pass']);

function withoutSecrets(json: unknown): unknown {
  if (Array.isArray(json)) return json.map(withoutSecrets);
  if (typeof json !== 'object' || json === null) return json;
  const rest: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(json)) {
    if (!SECRET_FIELDS.has(name)) rest[name] = withoutSecrets(value);
  }
  return rest;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * Calls methods of the PROXY6 interface and reads their answers strictly. Every failure comes out as one of the three kinds; none
 * of their messages holds a URL, because the key is part of it.
 */
@Injectable()
export class Px6Client {
  constructor(
    private readonly http: HttpService,
    private readonly config: AppConfig,
    private readonly rate: CallRate,
    private readonly account: ProviderAccount,
  ) {}

  async call<Method extends Px6Method>(
    method: Method,
    parameters: Readonly<Record<string, string>>,
    options: Px6CallOptions,
  ): Promise<z.output<(typeof answers)[Method]>> {
    const startedAt = performance.now();
    const deadline = options.deadline ?? Deadline.after(this.config.provider.timeoutMs);
    const report = (rest: Pick<ProviderCallRecord, 'outcome' | 'httpStatus' | 'answer'>) =>
      options.onCall?.({
        method,
        request: parameters,
        durationMs: Math.round(performance.now() - startedAt),
        ...rest,
      });

    let raw: RawAnswer | undefined;
    try {
      raw = await this.send(method, parameters, deadline, options);
      const answer = this.read(method, raw);
      report({ outcome: 'done', httpStatus: raw.status, answer: withoutSecrets(raw.json) ?? null });
      return answer;
    } catch (error) {
      const outcome =
        error instanceof ProviderRefused
          ? 'refused'
          : error instanceof ProviderUnavailable
            ? 'unavailable'
            : 'unknown';
      report({
        outcome,
        httpStatus: raw?.status ?? null,
        answer: withoutSecrets(raw?.json) ?? messageOf(error),
      });
      throw error;
    }
  }

  private async send(
    method: Px6Method,
    parameters: Readonly<Record<string, string>>,
    deadline: Deadline,
    { permit, priority }: Px6CallOptions,
  ): Promise<RawAnswer> {
    const transport = new GuardedTransport(deadline, permit, () =>
      this.rate.waitForPermit(priority, deadline.remainingMs(), true),
    );
    const { baseUrl, apiKey } = this.config.provider;
    const query = new URLSearchParams(parameters).toString();
    try {
      const response = await firstValueFrom(
        this.http.get<string>(`${baseUrl}/api/${apiKey}/${method}/?${query}`, {
          transport,
          signal: AbortSignal.timeout(Math.ceil(deadline.remainingMs())),
        }),
      );
      return { status: response.status, json: parseJson(response.data) };
    } catch (error) {
      // The error of axios holds the request, and with it the key: its code is all that goes on.
      const code = (error as { code?: unknown }).code;
      const reason = typeof code === 'string' ? code : 'no answer';
      if (transport.mayHaveSent()) throw new ProviderOutcomeUnknown(`${method} was sent, then: ${reason}`);
      void transport.giveTurnBack();
      if (transport.lacksTurn()) throw new NoPermitInTime();
      throw new ProviderUnavailable(`${method} was not sent: ${reason}`);
    }
  }

  private read<Method extends Px6Method>(
    method: Method,
    { status, json }: RawAnswer,
  ): z.output<(typeof answers)[Method]> {
    if (TOO_MANY_CALLS.includes(status)) {
      this.rate.holdBack();
      throw new TooManyCalls(`${method} was answered ${status}`, status === 429);
    }
    if (status >= 500) throw new ProviderOutcomeUnknown(`${method} was answered ${status}`);
    const said = envelope.safeParse(json);
    if (!said.success) {
      throw new ProviderOutcomeUnknown(`${method} was answered ${status} without the expected JSON`);
    }
    if (said.data.status === 'no') {
      const reason = refusals.get(said.data.error_id);
      if (reason) throw new ProviderRefused(reason);
      throw new ProviderOutcomeUnknown(`${method} was answered with error ${said.data.error_id}`);
    }
    if (said.data.currency !== 'RUB') {
      throw new ProviderOutcomeUnknown(`${method} was answered in another currency`);
    }
    if (said.data.balance !== undefined) this.account.note(said.data.balance);
    const answer = answers[method].safeParse(json);
    if (!answer.success) {
      throw new ProviderOutcomeUnknown(`${method} was answered with fields that are not as described`);
    }
    return answer.data as z.output<(typeof answers)[Method]>;
  }
}
