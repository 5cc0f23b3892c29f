import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { SchedulerRegistry } from '@nestjs/schedule';
import { stackOf } from '../error-text';

/**
 * Runs work at regular intervals. While a round is running, further ones are skipped. A failed round is
 * logged and does not stop the next one.
 */
@Injectable()
export class Jobs implements OnModuleDestroy {
  private readonly logger = new Logger(Jobs.name);
  private readonly running = new Map<string, Promise<void>>();

  constructor(private readonly scheduler: SchedulerRegistry) {}

  every(name: string, intervalMs: number, work: () => Promise<unknown>): void {
    const round = () => {
      if (this.running.has(name)) return;
      this.running.set(
        name,
        this.round(name, work).finally(() => this.running.delete(name)),
      );
    };
    this.scheduler.addInterval(name, setInterval(round, intervalMs));
  }

  /** Starts no more rounds and waits for those that are running. */
  async onModuleDestroy(): Promise<void> {
    for (const name of this.scheduler.getIntervals()) this.scheduler.deleteInterval(name);
    await Promise.all(this.running.values());
  }

  private async round(name: string, work: () => Promise<unknown>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.logger.error(`${name}: a round failed`, stackOf(error));
    }
  }
}
