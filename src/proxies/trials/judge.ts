import { randomBytes } from 'node:crypto';
import { Injectable, Logger } from '@nestjs/common';
import { z } from 'zod';
import { parseJson } from '../../common';
import { AppConfig } from '../../config';

/** How long the judge may take to respond to a direct request, which needs no other work. */
const DIRECT_TIMEOUT_MS = 1500;

const MAX_RESPONSE_BYTES = 4096;

/** The judge's view of a request: its address, and whether a header revealed the client of the proxy. */
const verdict = z.object({
  nonce: z.string(),
  address: z.union([z.ipv4(), z.ipv6()]),
  forwarded_for: z.boolean(),
});

/** The judge from a trial's view: a route of this service at its public address. */
@Injectable()
export class Judge {
  private readonly logger = new Logger(Judge.name);
  private isDown = false;

  constructor(private readonly config: AppConfig) {}

  /** Undefined if trials are disabled. */
  get url(): string | undefined {
    return this.config.trials.judgeUrl;
  }

  /** A URL for one request. The response contains its nonce, which no cache can know. */
  question(url: string): { readonly url: URL; readonly nonce: string } {
    const nonce = randomBytes(16).toString('hex');
    return { url: new URL(`?nonce=${nonce}`, url), nonce };
  }

  /** Null if it is not the judge's response to the request with this nonce. */
  read(text: string, nonce: string): z.output<typeof verdict> | null {
    const { data } = verdict.safeParse(parseJson(text));
    return data?.nonce === nonce ? data : null;
  }

  /** Whether the judge responds to a request without a proxy. Never rejects. */
  async responds(url: string): Promise<boolean> {
    const question = this.question(url);
    const isUp = await this.fetch(question.url).then(
      (text) => this.read(text, question.nonce) !== null,
      () => false,
    );
    if (this.isDown === isUp) {
      this.isDown = !isUp;
      if (isUp) this.logger.log('the judge responds again');
      else this.logger.error(`the judge at ${url} does not respond: checks of proxies have no result`);
    }
    return isUp;
  }

  private async fetch(url: URL): Promise<string> {
    const { request } = await import('undici');
    // A kept-alive connection would not show whether new ones are accepted.
    const { statusCode, body } = await request(url, {
      reset: true,
      signal: AbortSignal.timeout(DIRECT_TIMEOUT_MS),
    });
    let text = '';
    for await (const chunk of body as AsyncIterable<Buffer>) {
      text += chunk.toString('latin1');
      if (text.length > MAX_RESPONSE_BYTES) break;
    }
    return statusCode === 200 ? text : '';
  }
}
