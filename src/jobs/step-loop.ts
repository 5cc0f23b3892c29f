import { origin } from '../tracing';

/** Runs steps, one after the other, while there may be work. Steps never overlap. */
export class StepLoop {
  private running: Promise<void> | undefined;
  private isWoken = false;
  /** Shared work does not belong to the request that woke it. */
  private readonly background = origin();

  /** @param step returns whether there may be more work; never rejects */
  constructor(private readonly step: () => Promise<boolean>) {}

  /** Call this when there may be work. Another step follows the current one, which may have missed it. */
  wake(): void {
    this.isWoken = true;
    this.running ??= this.background.run(() => this.run());
  }

  /** Wakes it unless a step is running. */
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
