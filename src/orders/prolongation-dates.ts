import { Injectable } from '@nestjs/common';
import { AppConfig } from '../config';
import { type ListedProxy, ProxyProvider, type RatePermit } from '../provider';
import { OrderSteps } from './order-steps';
import { ProviderCallLog } from './provider-call-log';

/** The provider's largest page. */
const PAGE_SIZE = 1000;
/** From so many on, a listing of everything is worth a thought. */
const TAGS_WORTH_A_FULL_LISTING = 3;

interface Wanted {
  readonly orderId: number;
  readonly tag: string;
  readonly providerProxyId: string;
  readonly done: (isListed: boolean) => void;
  readonly failed: (error: unknown) => void;
}

/**
 * Reads when proxies end at the provider, right before they are prolonged. Those that were bought together are read in one listing, and
 * when fewer calls list everything, everything is listed. A listing counts only for those who asked before it was sent: an older
 * one may not have seen what their order follows.
 */
@Injectable()
export class ProlongationDates {
  private wanted: Wanted[] = [];
  private isReading = false;

  constructor(
    private readonly provider: ProxyProvider,
    private readonly steps: OrderSteps,
    private readonly calls: ProviderCallLog,
    private readonly config: AppConfig,
  ) {}

  /** Notes the end with the order. False when the provider does not list the proxy. @throws ProviderError */
  note(of: Pick<Wanted, 'orderId' | 'tag' | 'providerProxyId'>): Promise<boolean> {
    return new Promise((done, failed) => {
      this.wanted.push({ ...of, done, failed });
      if (!this.isReading) void this.read();
    });
  }

  private async read(): Promise<void> {
    this.isReading = true;
    while (this.wanted.length > 0) {
      try {
        const permit = await this.provider.waitForPermit('order', this.config.purchases.waitMs);
        const isAll = await this.isFullListingShorter().catch(async (error: unknown) => {
          await permit.giveBack();
          throw error;
        });
        const tag = this.wanted[0]?.tag;
        const asked = this.take((one) => isAll || one.tag === tag);
        // The next permit is not kept waiting by this answer.
        void this.answer(asked, () => (isAll ? this.listAll(asked, permit) : this.listTag(asked, permit)));
      } catch (error) {
        for (const one of this.take(() => true)) one.failed(error);
      }
    }
    this.isReading = false;
  }

  private async isFullListingShorter(): Promise<boolean> {
    const tags = new Set(this.wanted.map(({ tag }) => tag)).size;
    if (tags < TAGS_WORTH_A_FULL_LISTING) return false;
    const listed = await this.steps.lastListedCount();
    return listed !== null && Math.floor(listed / PAGE_SIZE) + 1 < tags;
  }

  private take(isTaken: (one: Wanted) => boolean): Wanted[] {
    const taken = this.wanted.filter(isTaken);
    this.wanted = this.wanted.filter((one) => !isTaken(one));
    return taken;
  }

  private async answer(
    asked: readonly Wanted[],
    list: () => Promise<ReadonlyMap<string, ListedProxy>>,
  ): Promise<void> {
    try {
      const listed = await list();
      const ends = new Map<number, Date>();
      for (const { orderId, providerProxyId } of asked) {
        const proxy = listed.get(providerProxyId);
        if (proxy) ends.set(orderId, proxy.dateEnd);
      }
      // In one statement, so that they join the line together.
      await this.steps.noteDateEnds(ends);
      for (const one of asked) one.done(ends.has(one.orderId));
    } catch (error) {
      for (const one of asked) one.failed(error);
    }
  }

  /** @param asked all for the same tag */
  private async listTag(asked: readonly Wanted[], permit: RatePermit): Promise<Map<string, ListedProxy>> {
    const [first] = asked;
    if (!first) return new Map();
    const listed = await this.calls.keep(first.orderId, (onCall) =>
      this.provider.proxiesByTag(first.tag, { permit, onCall, priority: 'order' }),
    );
    return new Map(listed.map((proxy) => [proxy.id, proxy]));
  }

  /** It is no snapshot: what is not in it is asked for by its tag, before it counts as gone. */
  private async listAll(asked: readonly Wanted[], permit: RatePermit): Promise<Map<string, ListedProxy>> {
    const found = new Map<string, ListedProxy>();
    const missing = new Map(asked.map((one) => [one.providerProxyId, one]));
    for await (const page of this.provider.allProxies({ permit, priority: 'order' })) {
      for (const proxy of page) if (missing.delete(proxy.id)) found.set(proxy.id, proxy);
      if (missing.size === 0) return found;
    }
    for (const one of missing.values()) {
      const byTag = await this.listTag(
        [one],
        await this.provider.waitForPermit('order', this.config.purchases.waitMs),
      );
      for (const [id, proxy] of byTag) found.set(id, proxy);
    }
    return found;
  }
}
