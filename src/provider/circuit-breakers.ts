import { Logger } from '@nestjs/common';
import {
  circuitBreaker,
  type CircuitBreakerPolicy,
  CircuitState,
  ConsecutiveBreaker,
  handleAll,
} from 'cockatiel';
import { type Clock, compareDecimals, messageOf } from '../common';
import type { Tuning } from '../config';
import { Deadline } from './deadline';
import {
  NoPermitInTime,
  ProviderClosed,
  ProviderError,
  ProviderOutcomeUnknown,
  ProviderRefused,
  ProviderUnavailable,
  ProviderUnreadable,
} from './provider-errors';
import type { BreakerStatus } from './proxy-provider';

/** Fewer failures in a row may be the fault of the calls rather than of the provider. */
const FAILURES_IN_A_ROW = 5;
const PROBE_MS = 5000;
const LONGEST_PROBE_INTERVAL_MS = 60_000;

const STATE_NAMES = {
  [CircuitState.Closed]: 'closed',
  [CircuitState.Open]: 'open',
  [CircuitState.HalfOpen]: 'half-open',
  [CircuitState.Isolated]: 'open',
} as const satisfies Record<CircuitState, BreakerStatus['state']>;

/** Whether an error shows neither that the provider works nor that it fails. */
const isIrrelevant = (error: unknown): boolean =>
  error instanceof NoPermitInTime || error instanceof ProviderClosed || !(error instanceof ProviderError);

const isFailure = (error: unknown): error is ProviderError =>
  error instanceof ProviderUnavailable ||
  error instanceof ProviderOutcomeUnknown ||
  (error instanceof ProviderRefused && error.reason === 'misconfigured');

/** While the breaker is open, only the results of probes count. */
class CircuitBreaker {
  private readonly logger = new Logger(CircuitBreaker.name);
  private readonly policy: CircuitBreakerPolicy;
  private since: Date;
  private isOpen = false;

  constructor(
    readonly name: BreakerStatus['name'],
    failures: number,
    clock: Clock,
    onOpen: () => void,
  ) {
    this.since = clock.now();
    // The policy itself may let a probe pass at any time. Our timer decides when to probe.
    this.policy = circuitBreaker(handleAll, {
      halfOpenAfter: -Infinity,
      breaker: new ConsecutiveBreaker(failures),
    });
    this.policy.onBreak((reason) => {
      // Also called after a failed probe, when the breaker is already open.
      if (this.isOpen) return;
      this.isOpen = true;
      this.since = clock.now();
      this.logger.warn(`${name}: opened after: ${'error' in reason ? messageOf(reason.error) : 'failures'}`);
      onOpen();
    });
    this.policy.onReset(() => {
      this.isOpen = false;
      this.since = clock.now();
      this.logger.log(`${name}: closed`);
    });
  }

  get isClosed(): boolean {
    return this.policy.state === CircuitState.Closed;
  }

  status(): BreakerStatus {
    return { name: this.name, state: STATE_NAMES[this.policy.state], since: this.since };
  }

  async count(failure: Error | undefined): Promise<void> {
    if (this.isClosed) await this.attempt(() => (failure ? Promise.reject(failure) : Promise.resolve()));
  }

  async probe(work: () => Promise<unknown>): Promise<void> {
    if (!this.isClosed) await this.attempt(work);
  }

  private async attempt(work: () => Promise<unknown>): Promise<void> {
    await this.policy.execute(work).catch(() => undefined);
  }
}

/**
 * `money` and `reads` open after several failures in a row: `money` for calls that cost money, `reads` for
 * other calls. While a breaker is open, a read probes the provider at growing intervals.
 */
export class CircuitBreakers {
  private readonly probeMs: number;
  private readonly money: CircuitBreaker;
  private readonly reads: CircuitBreaker;
  /**
   * Opens after a refusal for lack of funds; closes once the balance covers the smallest refused cost. Does
   * not stop calls: each call's cost is compared with the balance instead.
   */
  private readonly funds: CircuitBreaker;
  /** The balance, in roubles, at which the `funds` breaker closes. */
  private requiredFunds = '0';
  private failedProbes = 0;
  private isProbing = false;
  private nextProbe = Deadline.never;
  private timer: NodeJS.Timeout | undefined;
  private isShutDown = false;

  /** @param balance returns roubles; null if unknown */
  constructor(
    clock: Clock,
    tuning: Tuning,
    private readonly sendProbe: () => Promise<unknown>,
    private readonly balance: () => string | null,
  ) {
    const failures = tuning.breakerFailures ?? FAILURES_IN_A_ROW;
    this.probeMs = tuning.breakerProbeMs ?? PROBE_MS;
    this.money = new CircuitBreaker('money', failures, clock, () => this.probeFirstIn(this.probeMs));
    this.reads = new CircuitBreaker('reads', failures, clock, () => this.probeFirstIn(this.probeMs));
    // A refusal for lack of funds contains no balance, so a probe fetches the balance immediately.
    this.funds = new CircuitBreaker('funds', 1, clock, () => this.probeFirstIn(0));
  }

  status(): BreakerStatus[] {
    return [this.money, this.reads, this.funds].map((breaker) => breaker.status());
  }

  /** @throws ProviderClosed */
  assertTakesOrders(): void {
    this.assertClosed(this.money);
  }

  /** Makes a call that costs money, even if breakers are open, because the order already counts as sent. */
  async spend<Result>(quoted: string, call: () => Promise<Result>): Promise<Result> {
    try {
      return await this.count(this.money, call);
    } catch (error) {
      if (error instanceof ProviderRefused && error.reason === 'out-of-funds') {
        const isLess = compareDecimals(quoted, this.requiredFunds) < 0;
        if (this.funds.isClosed || isLess) this.requiredFunds = quoted;
        await this.funds.count(error);
      }
      throw error;
    }
  }

  /** @throws ProviderClosed */
  assertTakesReads(): void {
    this.assertClosed(this.reads);
  }

  /** @throws ProviderClosed */
  async read<Result>(call: () => Promise<Result>): Promise<Result> {
    this.assertTakesReads();
    return this.count(this.reads, call);
  }

  probeNow(): void {
    if (!this.areClosed()) this.probeFirstIn(0);
  }

  shutDown(): void {
    this.isShutDown = true;
    clearTimeout(this.timer);
  }

  private areClosed(): boolean {
    return this.money.isClosed && this.reads.isClosed && this.funds.isClosed;
  }

  private assertClosed(breaker: CircuitBreaker): void {
    if (breaker.isClosed) return;
    const seconds = Math.max(1, Math.ceil(this.nextProbe.remainingMs() / 1000));
    throw new ProviderClosed(`the circuit breaker for ${breaker.name} is open`, seconds);
  }

  private async count<Result>(breaker: CircuitBreaker, call: () => Promise<Result>): Promise<Result> {
    try {
      const result = await call();
      await breaker.count(undefined);
      return result;
    } catch (error) {
      // An unreadable response counts as a failure only for `money`, because confirming the orders without
      // a readable response takes a long time.
      const isNothing = error instanceof ProviderUnreadable && breaker === this.reads;
      if (!isIrrelevant(error) && !isNothing) await breaker.count(isFailure(error) ? error : undefined);
      throw error;
    }
  }

  private probeFirstIn(delayMs: number): void {
    this.failedProbes = 0;
    this.probeIn(delayMs);
  }

  private probeIn(delayMs: number): void {
    // A running probe schedules the next one.
    if (this.isShutDown || this.isProbing) return;
    clearTimeout(this.timer);
    this.nextProbe = Deadline.after(delayMs);
    this.timer = setTimeout(() => void this.probe(), delayMs).unref();
  }

  private async probe(): Promise<void> {
    this.isProbing = true;
    const response = this.sendProbe();
    await Promise.all([
      this.money.probe(() => response),
      this.reads.probe(() => response),
      this.funds.probe(async () => {
        await response;
        const balance = this.balance();
        if (balance !== null && compareDecimals(balance, this.requiredFunds) < 0) {
          throw new Error('the balance at the provider is too low');
        }
      }),
    ]);
    this.isProbing = false;
    if (this.areClosed()) return;
    const { probeMs } = this;
    this.probeIn(Math.min(probeMs * 2 ** this.failedProbes, Math.max(probeMs, LONGEST_PROBE_INTERVAL_MS)));
    this.failedProbes += 1;
  }
}
