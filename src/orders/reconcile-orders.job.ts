import {
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
} from '@nestjs/common';
import { SchedulerRegistry } from '@nestjs/schedule';
import { messageOf } from '../common';
import { AppConfig } from '../config';
import { ReconciliationService } from './reconciliation.service';

const BATCH_SIZE = 20;
const NAME = 'reconcile-orders';

/** Looks at due orders at a steady interval. A round that takes longer than it lets the next ones pass. */
@Injectable()
export class ReconcileOrdersJob implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly logger = new Logger(ReconcileOrdersJob.name);
  private running: Promise<void> | undefined;

  constructor(
    @Inject(ReconciliationService) private readonly reconciliation: ReconciliationService,
    @Inject(SchedulerRegistry) private readonly scheduler: SchedulerRegistry,
    @Inject(AppConfig) private readonly config: AppConfig,
  ) {}

  onApplicationBootstrap(): void {
    const run = () => {
      this.running ??= this.round().finally(() => (this.running = undefined));
    };
    this.scheduler.addInterval(NAME, setInterval(run, this.config.reconcileIntervalMs));
  }

  /** Lets a round that has begun come to its end. */
  async onModuleDestroy(): Promise<void> {
    if (this.scheduler.doesExist('interval', NAME)) this.scheduler.deleteInterval(NAME);
    await this.running;
  }

  private async round(): Promise<void> {
    try {
      await this.reconciliation.settleDue(BATCH_SIZE);
    } catch (error) {
      this.logger.error(`a round failed: ${messageOf(error)}`);
    }
  }
}
