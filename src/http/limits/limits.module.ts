import { Module } from '@nestjs/common';
import { Work } from '../../work';
import { RequestLimits } from './request-limits.service';

/** A key that is refused by one replica can be served by another for this long. */
const SHARE_INTERVAL_MS = 1000;

@Module({ providers: [RequestLimits], exports: [RequestLimits] })
export class LimitsModule {
  constructor(work: Work, limits: RequestLimits) {
    work.every('request-counts', SHARE_INTERVAL_MS, () => limits.share());
  }
}
