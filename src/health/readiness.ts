import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { messageOf } from '../common';
import { DatabaseProbe } from '../database';
import { Metrics } from '../metrics';

@Injectable()
export class Readiness implements OnModuleDestroy {
  private readonly logger = new Logger(Readiness.name);
  private readonly probe: DatabaseProbe;
  private isDraining = false;
  private lastObstacle: string | undefined;

  constructor(@InjectDataSource() dataSource: DataSource, metrics: Metrics) {
    this.probe = new DatabaseProbe(dataSource);
    metrics.addReader(async (set) => set('ready', {}, (await this.obstacle()) === undefined ? 1 : 0));
  }

  onModuleDestroy(): void {
    this.probe.close();
  }

  drain(): void {
    this.isDraining = true;
  }

  /** Resolves within two seconds. */
  async obstacle(): Promise<string | undefined> {
    if (this.isDraining) return 'The replica is stopping';
    const { obstacle, cause } = await this.findObstacle();
    if (obstacle !== this.lastObstacle) {
      this.lastObstacle = obstacle;
      if (obstacle === undefined) this.logger.log('ready again');
      else this.logger.warn(`not ready: ${obstacle}${cause ? `: ${cause}` : ''}`);
    }
    return obstacle;
  }

  private async findObstacle(): Promise<{ obstacle?: string; cause?: string }> {
    try {
      const { isReadOnly, missing } = await this.probe.state();
      if (missing.length > 0) return { obstacle: 'Migrations are pending', cause: missing.join(', ') };
      return isReadOnly ? { obstacle: 'The database does not accept writes' } : {};
    } catch (error) {
      return { obstacle: 'The database cannot be reached', cause: messageOf(error) };
    }
  }
}
