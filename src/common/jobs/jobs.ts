import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { SchedulerRegistry } from '@nestjs/schedule';
import { stackOf } from '../error-text';

/**
 * Work that is done at a steady interval. A round that takes longer than the interval lets the next ones pass; a failed one is
 * logged, and the next one comes all the same.
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

  /** Begins no more rounds, and lets those that have begun come to their end. */
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
