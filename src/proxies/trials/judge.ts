import { randomBytes } from 'node:crypto';
import { Injectable, Logger } from '@nestjs/common';
import { z } from 'zod';
import { AppConfig } from '../../config';

/** How long the judge may take to answer a direct request: it does nothing but answer. */
const DIRECT_TIMEOUT_MS = 1500;

const MAX_ANSWER_BYTES = 4096;

/** What the judge saw of a request. */
export interface Verdict {
  /** The address that the request came from. */
  readonly address: string;
  /** Whether a header told on whose behalf it came. */
  readonly forwardedFor: boolean;
}

const verdict = z.object({
  nonce: z.string(),
  address: z.union([z.ipv4(), z.ipv6()]),
  forwarded_for: z.boolean(),
});

/** The judge as a trial sees it: a route of this service at its public address. */
@Injectable()
export class Judge {
  private readonly logger = new Logger(Judge.name);
  private isDown = false;

  constructor(private readonly config: AppConfig) {}

  /** Undefined: trials are switched off. */
  get url(): string | undefined {
    return this.config.trials.judgeUrl;
  }

  /** An address to be asked once. Its nonce comes back in the answer, which no cache can know. */
  question(url: string): { readonly url: URL; readonly nonce: string } {
    const nonce = randomBytes(16).toString('hex');
    return { url: new URL(`?nonce=${nonce}`, url), nonce };
  }

  /** Null when it is not the judge's answer to this question. */
  read(text: string, nonce: string): Verdict | null {
    const { data } = verdict.safeParse(parseJson(text));
    if (data?.nonce !== nonce) return null;
    return { address: data.address, forwardedFor: data.forwarded_for };
  }

  /** Whether the judge answers a request that goes through no proxy. Never rejects. */
  async answers(url: string): Promise<boolean> {
    const question = this.question(url);
    const isAnswered = await this.ask(question.url).then(
      (text) => this.read(text, question.nonce) !== null,
      () => false,
    );
    if (this.isDown === isAnswered) {
      this.isDown = !isAnswered;
      if (isAnswered) this.logger.log('the judge answers again');
      else this.logger.error(`the judge at ${url} does not answer: checks of proxies tell nothing`);
    }
    return isAnswered;
  }

  private async ask(url: URL): Promise<string> {
    const { request } = await import('undici');
    // A connection that is kept would not tell whether new ones are accepted.
    const { statusCode, body } = await request(url, {
      reset: true,
      signal: AbortSignal.timeout(DIRECT_TIMEOUT_MS),
    });
    let text = '';
    for await (const chunk of body as AsyncIterable<Buffer>) {
      text += chunk.toString('latin1');
      if (text.length > MAX_ANSWER_BYTES) break;
    }
    return statusCode === 200 ? text : '';
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
