import { HttpService } from '@nestjs/axios';
import { Inject, Injectable } from '@nestjs/common';
import { firstValueFrom } from 'rxjs';
import { z } from 'zod';
import { messageOf } from '../../common';
import { AppConfig } from '../../config';
import { Deadline } from '../deadline';
import { ProviderOutcomeUnknown, ProviderRefused, ProviderUnavailable } from '../provider-errors';
import type { ProviderCallOptions, ProviderCallRecord } from '../upstream-provider';
import { GuardedTransport } from './guarded-transport';
import { answers, envelope, refusals, type Px6Method } from './px6-answers';

interface RawAnswer {
  readonly status: number;
  readonly text: string;
}

/** Fields of an answer that are the customer's secrets. */
const SECRET_FIELDS = new Set(['user', 'pass']);

const withoutSecrets = (json: unknown): unknown =>
  json === undefined
    ? null
    : JSON.parse(JSON.stringify(json, (key, value: unknown) => (SECRET_FIELDS.has(key) ? undefined : value)));

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
    @Inject(HttpService) private readonly http: HttpService,
    @Inject(AppConfig) private readonly config: AppConfig,
  ) {}

  async call<Method extends Px6Method>(
    method: Method,
    parameters: Readonly<Record<string, string>>,
    options: ProviderCallOptions = {},
  ): Promise<z.output<(typeof answers)[Method]>> {
    const startedAt = performance.now();
    const deadline = options.deadline ?? Deadline.after(this.config.providerTimeoutMs);
    const report = (rest: Pick<ProviderCallRecord, 'outcome' | 'httpStatus' | 'answer'>) =>
      options.onCall?.({
        method,
        request: parameters,
        durationMs: Math.round(performance.now() - startedAt),
        ...rest,
      });

    let raw: RawAnswer | undefined;
    try {
      raw = await this.send(method, parameters, deadline);
      const answer = this.read(method, raw);
      report({ outcome: 'done', httpStatus: raw.status, answer: withoutSecrets(parseJson(raw.text)) });
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
        answer: withoutSecrets(parseJson(raw?.text ?? '')) ?? messageOf(error),
      });
      throw error;
    }
  }

  private async send(
    method: Px6Method,
    parameters: Readonly<Record<string, string>>,
    deadline: Deadline,
  ): Promise<RawAnswer> {
    const transport = new GuardedTransport(deadline);
    const { baseUrl, apiKey } = this.config.upstream;
    const query = new URLSearchParams(parameters).toString();
    try {
      const response = await firstValueFrom(
        this.http.get<string>(`${baseUrl}/api/${apiKey}/${method}/?${query}`, {
          transport,
          signal: AbortSignal.timeout(Math.ceil(deadline.remainingMs())),
        }),
      );
      return { status: response.status, text: response.data };
    } catch (error) {
      // The error of axios holds the request, and with it the key: its code is all that goes on.
      const code = (error as { code?: unknown }).code;
      const reason = typeof code === 'string' ? code : 'no answer';
      if (transport.mayHaveSent()) throw new ProviderOutcomeUnknown(`${method} was sent, then: ${reason}`);
      throw new ProviderUnavailable(`${method} was not sent: ${reason}`);
    }
  }

  private read<Method extends Px6Method>(
    method: Method,
    { status, text }: RawAnswer,
  ): z.output<(typeof answers)[Method]> {
    if (status === 429) throw new ProviderOutcomeUnknown(`${method} was answered 429`, true);
    if (status >= 500) throw new ProviderOutcomeUnknown(`${method} was answered ${status}`);
    const json = parseJson(text);
    const said = envelope.safeParse(json);
    if (!said.success)
      throw new ProviderOutcomeUnknown(`${method} was answered ${status} without the expected JSON`);
    if (said.data.status === 'no') {
      const reason = refusals.get(said.data.error_id);
      if (reason) throw new ProviderRefused(reason);
      throw new ProviderOutcomeUnknown(`${method} was answered with error ${said.data.error_id}`);
    }
    if (said.data.currency !== 'RUB')
      throw new ProviderOutcomeUnknown(`${method} was answered in another currency`);
    const answer = answers[method].safeParse(json);
    if (!answer.success)
      throw new ProviderOutcomeUnknown(`${method} was answered with fields that are not as described`);
    return answer.data as z.output<(typeof answers)[Method]>;
  }
}
