import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Hints, RowWaits, untilEnded } from '../../database';
import { DepositRecords } from '../records/deposit-records';

/** Requests that wait until a deposit ends, which may happen on any replica. */
@Injectable()
export class DepositWaits implements OnModuleDestroy {
  private readonly hints: Hints;
  private readonly waits: RowWaits<() => void>;

  constructor(
    dataSource: DataSource,
    private readonly records: DepositRecords,
  ) {
    this.hints = new Hints(dataSource, 'ended_deposits');
    this.waits = new RowWaits(this.hints, {
      name: 'deposits',
      hear: (ids) => this.endAll(ids),
      lookAtAll: async () => {
        const ids = [...this.waits.entries()].map(([id]) => id);
        this.endAll(await this.records.endedOf(ids));
      },
    });
  }

  onModuleDestroy(): void {
    this.hints.close();
  }

  /** Wakes the requests that wait for an ended deposit, on all replicas. */
  announce(depositId: number): void {
    this.endAll([depositId]);
    this.hints.send([depositId]);
  }

  /** Resolves when the deposit ends, after the time, or when the client hangs up. Never rejects. */
  async untilEnded(depositId: number, timeoutMs: number, hungUp: AbortSignal): Promise<void> {
    let over = (): void => undefined;
    await untilEnded(timeoutMs, hungUp, (end) => {
      this.waits.begin(depositId, end);
      over = () => this.waits.end(depositId, end);
      // It may have ended between the request's first read and the beginning of the wait.
      void this.waits.lookAtAll();
    });
    over();
  }

  private endAll(ids: Iterable<number>): void {
    for (const id of ids) for (const end of this.waits.of(id) ?? []) end();
  }
}
