import { origin } from '../../tracing';

/** Runs one step after the other for as long as there is something to do. */
export class StepLoop {
  private isRunning = false;
  private isWoken = false;
  /** What is done for everybody is no part of the request that woke it. */
  private readonly background = origin();

  /** @param step tells whether there may be more to do. Never rejects */
  constructor(private readonly step: () => Promise<boolean>) {}

  /** There may be something to do. */
  wake(): void {
    this.isWoken = true;
    if (!this.isRunning) this.background.run(() => void this.run());
  }

  private async run(): Promise<void> {
    this.isRunning = true;
    while (this.isWoken) {
      this.isWoken = false;
      if (await this.step()) this.isWoken = true;
    }
    this.isRunning = false;
  }
}
