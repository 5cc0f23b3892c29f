import { Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import type { SchedulerRegistry } from '@nestjs/schedule';
import { messageOf } from '../common';

/** Does its work at a steady interval. A round that takes longer than it lets the next ones pass; a failed one is logged. */
export abstract class PeriodicJob implements OnApplicationBootstrap, OnModuleDestroy {
  protected abstract readonly name: string;
  protected abstract readonly intervalMs: number;
  protected abstract work(): Promise<unknown>;

  private readonly logger = new Logger(this.constructor.name);
  private running: Promise<void> | undefined;

  constructor(private readonly scheduler: SchedulerRegistry) {}

  onApplicationBootstrap(): void {
    const round = () => {
      this.running ??= this.round().finally(() => (this.running = undefined));
    };
    this.scheduler.addInterval(this.name, setInterval(round, this.intervalMs));
  }

  /** Lets a round that has begun come to its end. */
  async onModuleDestroy(): Promise<void> {
    if (this.scheduler.doesExist('interval', this.name)) this.scheduler.deleteInterval(this.name);
    await this.running;
  }

  private async round(): Promise<void> {
    try {
      await this.work();
    } catch (error) {
      this.logger.error(`a round failed: ${messageOf(error)}`);
    }
  }
}
