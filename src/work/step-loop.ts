import { origin } from '../tracing';

/** Takes one step after the other for as long as there may be something to do. Steps never overlap. */
export class StepLoop {
  private running: Promise<void> | undefined;
  private isWoken = false;
  /** What is done for everybody is no part of the request that woke it. */
  private readonly background = origin();

  /** @param step tells whether there may be more to do. Never rejects */
  constructor(private readonly step: () => Promise<boolean>) {}

  /** There may be something to do, also for the step under way, which may have looked before. */
  wake(): void {
    this.isWoken = true;
    this.running ??= this.background.run(() => this.run());
  }

  /** Wakes it unless a step is under way. */
  tick(): void {
    if (!this.running) this.wake();
  }

  get isRunning(): boolean {
    return this.running !== undefined;
  }

  async untilIdle(): Promise<void> {
    await this.running;
  }

  private async run(): Promise<void> {
    while (this.isWoken) {
      this.isWoken = false;
      if (await this.step()) this.isWoken = true;
    }
    this.running = undefined;
  }
}
