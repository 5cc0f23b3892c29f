import { Module } from '@nestjs/common';
import { Work } from '../../work';
import { RequestLimits } from './request-limits.service';

/** Another replica may still serve a key for this long after one refused it. */
const SHARE_INTERVAL_MS = 1000;

@Module({ providers: [RequestLimits], exports: [RequestLimits] })
export class LimitsModule {
  constructor(work: Work, limits: RequestLimits) {
    work.every('request-counts', SHARE_INTERVAL_MS, () => limits.share());
  }
}
