import { Module } from '@nestjs/common';
import { Work } from '../../work';
import { SalesRollupService } from './sales-rollup.service';
import { SalesService } from './sales.service';

const ROLL_UP_SECONDS = 600;

@Module({ providers: [SalesService, SalesRollupService], exports: [SalesService] })
export class SalesModule {
  constructor(work: Work, rollup: SalesRollupService) {
    work.run({ name: 'sales-days', everySeconds: ROLL_UP_SECONDS, carryOut: (run) => rollup.rollUp(run) });
  }
}
