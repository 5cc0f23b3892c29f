import { randomBytes } from 'node:crypto';
import { isIP, isIPv6 } from 'node:net';
import { Injectable, Logger } from '@nestjs/common';
import { z } from 'zod';
import { jsonOrUndefined } from '../../common';
import { AppConfig } from '../../config';
import { hostOf } from './request-through-proxy';

const DIRECT_TIMEOUT_MS = 1500;

const MAX_RESPONSE_BYTES = 4096;

/** How long a proxy's success counts as proof that the endpoint is reachable over its address family. */
const REACHED_FOR_MS = 5 * 60_000;

type Family = 4 | 6;

/** `forwarded_for` means that a header revealed the proxy's client. */
const verdict = z.object({
  nonce: z.string(),
  address: z.union([z.ipv4(), z.ipv6()]),
  forwarded_for: z.boolean(),
});

/** Calls the echo endpoint, a route of this service at its public address. */
@Injectable()
export class EchoEndpoint {
  private readonly logger = new Logger(EchoEndpoint.name);
  private readonly down = new Set<Family>();
  private readonly reachedAtMs = new Map<Family, number>();

  constructor(private readonly config: AppConfig) {}

  /** Undefined if checks are disabled. */
  get url(): string | undefined {
    return this.config.proxyChecks.echoUrl;
  }

  /** The response must repeat the nonce, so a cached response is not accepted. */
  question(url: string): { readonly url: URL; readonly nonce: string } {
    const nonce = randomBytes(16).toString('hex');
    return { url: new URL(`?nonce=${nonce}`, url), nonce };
  }

  /** Returns null unless the text is the echo endpoint's response with this nonce. */
  read(text: string, nonce: string): z.output<typeof verdict> | null {
    const { data } = verdict.safeParse(jsonOrUndefined(text));
    return data?.nonce === nonce ? data : null;
  }

  recordReached(family: Family): void {
    this.reachedAtMs.set(family, performance.now());
    this.recordReachable(family, true);
  }

  /** Logs when checks stop returning results, and when they resume. */
  recordReachable(family: Family, isReachable: boolean): void {
    if (this.down.has(family) !== isReachable) return;
    if (isReachable) {
      this.down.delete(family);
      this.logger.log(`the echo endpoint responds over IPv${family} again`);
    } else {
      this.down.add(family);
      this.logger.error(
        `the echo endpoint ${this.url} does not respond over IPv${family}: checks over IPv${family} ` +
          'have no result',
      );
    }
  }

  /**
   * Requests the endpoint directly, over both address families. A response over the other family counts only
   * if a proxy of this family recently reached the endpoint. Never rejects.
   */
  async isReachable(url: string, family: Family): Promise<boolean> {
    const [isDirect, isUp] = await Promise.all([
      this.responds(url, family),
      this.responds(url, family === 6 ? 4 : 6),
    ]);
    const sinceReachedMs = performance.now() - (this.reachedAtMs.get(family) ?? -Infinity);
    return isDirect || (isUp && sinceReachedMs < REACHED_FOR_MS);
  }

  private async responds(url: string, family: Family): Promise<boolean> {
    const question = this.question(url);
    const text = await this.fetch(question.url, family).catch(() => '');
    const seen = this.read(text, question.nonce);
    // Over IPv6, require an IPv6 address: with NAT64, the connection may reach an endpoint that has only
    // IPv4.
    return seen !== null && (family === 4 || isIPv6(seen.address));
  }

  private async fetch(url: URL, family: Family): Promise<string> {
    // If the host is an address, compare its family here, because Node would ignore the requested one.
    if (![0, family].includes(isIP(hostOf(url)))) return '';
    const { Client, request } = await import('undici');
    // Open a new connection, because a kept-alive one would not show whether the endpoint accepts new ones.
    const dispatcher = new Client(url.origin, { connect: { family } });
    try {
      const signal = AbortSignal.timeout(DIRECT_TIMEOUT_MS);
      const { statusCode, body } = await request(url, { dispatcher, signal });
      let text = '';
      for await (const chunk of body as AsyncIterable<Buffer>) {
        text += chunk.toString('latin1');
        if (text.length > MAX_RESPONSE_BYTES) break;
      }
      return statusCode === 200 ? text : '';
    } finally {
      void dispatcher.destroy().catch(() => undefined);
    }
  }
}
