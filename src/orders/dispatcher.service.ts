import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { messageOf } from '../common';
import { AppConfig } from '../config';
import { mayHaveCommitted } from '../database';
import { Deadline, ProviderError, ProxyProvider, type RatePermit } from '../provider';
import { type CallLeave, FulfilmentService } from './fulfilment.service';
import { idsOf, type OrderGroup } from './order-group';
import { OrderSettlement } from './order-settlement';
import { OrderSteps } from './order-steps';

/** An order of a request at this process, until it has an outcome. */
interface Attended {
  readonly waitUntil: Deadline;
  /** `waiting`: in line. `sent`: in a call of this process. `elsewhere`: in a call of another replica. */
  place: 'waiting' | 'sent' | 'elsewhere';
  readonly end: () => void;
}

/** How often it is asked what other replicas made of orders of requests at this one. */
const ELSEWHERE_POLL_MS = 100;
const PAUSE_AFTER_TROUBLE_MS = 50;
const PAUSE_WHEN_OTHERS_CLAIM_MS = 10;
/** With growing pauses, for ten seconds; then reconciliation finds that nothing was bought. */
const UNDO_ATTEMPTS = 20;
/** Beyond the longest call and the look after it, a request does not wait for another replica. */
const LONGEST_ABSENCE_MS = 10_000;

/**
 * The line in front of the provider. It is the table of orders, one line for all replicas: whichever has a permit sends what comes next,
 * together with what is of the same kind. Each replica takes permits as long as requests at it wait.
 */
@Injectable()
export class DispatcherService implements OnModuleDestroy {
  private readonly logger = new Logger(DispatcherService.name);
  private readonly attended = new Map<number, Attended>();
  private readonly underWay = new Set<Promise<void>>();
  private isDispatching = false;
  private isWatching = false;

  constructor(
    private readonly steps: OrderSteps,
    private readonly settlement: OrderSettlement,
    private readonly fulfilment: FulfilmentService,
    private readonly provider: ProxyProvider,
    private readonly config: AppConfig,
  ) {}

  /** Orders of requests at this process that are in line. */
  countWaiting(): number {
    return [...this.attended.values()].filter(({ place }) => place === 'waiting').length;
  }

  /**
   * Waits until a reserved order has an outcome, as far as one is to be had now; the order's state tells which. In line it waits for
   * PURCHASE_WAIT_MS at most, then its money is given back. Never rejects.
   */
  async attend(orderId: number): Promise<void> {
    const { waitMs } = this.config.purchases;
    await new Promise<void>((resolve) => {
      const timers = [
        setTimeout(() => void this.giveUp(orderId), waitMs),
        setTimeout(() => this.end(orderId), waitMs + this.config.provider.timeoutMs + LONGEST_ABSENCE_MS),
      ];
      this.attended.set(orderId, {
        waitUntil: Deadline.after(waitMs),
        place: 'waiting',
        end: () => {
          for (const timer of timers) clearTimeout(timer);
          resolve();
        },
      });
      this.wake();
    });
  }

  /** Lets the calls that are under way come to their end. */
  async onModuleDestroy(): Promise<void> {
    await Promise.all(this.underWay);
  }

  private wake(): void {
    if (!this.isDispatching) void this.dispatch();
    if (!this.isWatching) void this.watch();
  }

  /** Never rejects. */
  private async dispatch(): Promise<void> {
    this.isDispatching = true;
    while (this.countWaiting() > 0) {
      try {
        this.provider.assertTakesOrders();
        const permit = await this.provider.waitForPermit('order', this.config.purchases.waitMs);
        await this.sendNext(permit);
      } catch (error) {
        if (error instanceof ProviderError) {
          // No permit came, or none is to come: who has waited long enough has been given up by its own timer.
          await this.giveUpAllIfClosed();
        } else {
          this.logger.error(`the next orders were not sent: ${messageOf(error)}`);
        }
        await pause(PAUSE_AFTER_TROUBLE_MS);
      }
    }
    this.isDispatching = false;
  }

  private async sendNext(permit: RatePermit): Promise<void> {
    const deadline = Deadline.after(this.config.provider.timeoutMs);
    const claim = randomUUID();
    let group;
    try {
      group = await this.steps.claimNext(claim, this.provider.balance()?.amount ?? null);
    } catch (error) {
      await permit.giveBack();
      if (mayHaveCommitted(error)) this.keep(this.undo(claim));
      throw error;
    }
    if (!group) {
      await permit.giveBack();
      await this.lookElsewhere();
      // What is left is in another replica's hands at this very moment.
      await pause(PAUSE_WHEN_OTHERS_CLAIM_MS);
      return;
    }
    const ids = idsOf(group);
    for (const id of ids) this.place(id, 'sent');
    this.keep(this.send(group, { permit, deadline }));
  }

  private async send(group: OrderGroup, leave: CallLeave): Promise<void> {
    const ids = idsOf(group);
    if (await this.fulfilment.fulfil(group, leave)) await this.conclude(ids);
    else for (const id of ids) this.end(id);
  }

  private keep(work: Promise<void>): void {
    this.underWay.add(work);
    void work.finally(() => this.underWay.delete(work));
  }

  /** A claim was not answered. Nothing is sent for it, so that its orders can be given back, if it was made. */
  private async undo(claim: string): Promise<void> {
    for (let attempt = 1; attempt <= UNDO_ATTEMPTS; attempt += 1) {
      try {
        const group = await this.steps.findClaimed(claim);
        if (!group) return;
        await this.settlement.refund(idsOf(group), 'unavailable', ['submitting']);
        for (const id of idsOf(group)) this.end(id);
        return;
      } catch (error) {
        this.logger.warn(`a claim without an answer was not undone yet: ${messageOf(error)}`);
        await pause(attempt * PAUSE_AFTER_TROUBLE_MS);
      }
    }
  }

  /** Who is back in line goes on waiting, everybody else has an outcome. */
  private async conclude(orderIds: readonly number[]): Promise<void> {
    const states = await this.statesOf(orderIds.filter((id) => this.attended.has(id)));
    for (const id of orderIds) {
      if (states.get(id) === 'reserved') this.lineUpAgain(id);
      else this.end(id);
    }
  }

  private lineUpAgain(orderId: number): void {
    this.place(orderId, 'waiting');
    if (this.attended.get(orderId)?.waitUntil.hasPassed()) void this.giveUp(orderId);
    else this.wake();
  }

  /** Asks from time to time what became of orders that other replicas have sent. */
  private async watch(): Promise<void> {
    this.isWatching = true;
    while (this.attended.size > 0) {
      await pause(ELSEWHERE_POLL_MS);
      await this.lookElsewhere();
    }
    this.isWatching = false;
  }

  private async lookElsewhere(): Promise<void> {
    const ids = [...this.attended].flatMap(([id, { place }]) => (place === 'sent' ? [] : [id]));
    for (const [id, state] of await this.statesOf(ids)) {
      const place = this.attended.get(id)?.place;
      if (place === undefined || place === 'sent') continue;
      if (state === 'submitting') this.place(id, 'elsewhere');
      else if (state !== 'reserved') this.end(id);
      else if (place === 'elsewhere') this.lineUpAgain(id);
    }
  }

  private async statesOf(orderIds: readonly number[]): ReturnType<OrderSteps['statesOf']> {
    if (orderIds.length === 0) return new Map();
    try {
      return await this.steps.statesOf(orderIds);
    } catch (error) {
      this.logger.warn(`the states of orders could not be read: ${messageOf(error)}`);
      return new Map();
    }
  }

  private async giveUpAllIfClosed(): Promise<void> {
    try {
      this.provider.assertTakesOrders();
    } catch {
      await Promise.all([...this.attended.keys()].map((id) => this.giveUp(id, 'unavailable')));
    }
  }

  /** Gives the money back of an order that is still in line: it was never sent. */
  private async giveUp(orderId: number, why: 'busy' | 'unavailable' = 'busy'): Promise<void> {
    if (this.attended.get(orderId)?.place !== 'waiting') return;
    try {
      const [refunded] = await this.settlement.refund([orderId], why, ['reserved']);
      if (refunded !== undefined) this.end(orderId);
      else await this.lookElsewhere();
    } catch (error) {
      // Left to reconciliation: it was never sent.
      this.logger.error(`order ${orderId}: not given up: ${messageOf(error)}`);
      this.end(orderId);
    }
  }

  private place(orderId: number, place: Attended['place']): void {
    const attended = this.attended.get(orderId);
    if (attended) attended.place = place;
  }

  private end(orderId: number): void {
    const attended = this.attended.get(orderId);
    this.attended.delete(orderId);
    attended?.end();
  }
}
