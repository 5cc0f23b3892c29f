import { captureOrigin } from '../tracing';

/** Repeats a step while there may be work. Steps never overlap. */
export class StepLoop {
  private running: Promise<void> | undefined;
  private isWoken = false;
  /** Runs steps outside any request, because shared work does not belong to the request that woke it. */
  private readonly background = captureOrigin();

  /** @param step returns whether there may be more work; never rejects */
  constructor(private readonly step: () => Promise<boolean>) {}

  /** Starts a step now, or right after the current step, which may have missed new work. */
  wake(): void {
    this.isWoken = true;
    this.running ??= this.background.run(() => this.run());
  }

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
