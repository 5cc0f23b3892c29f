import { Module } from '@nestjs/common';
import { RequestLimits } from './request-limits.service';

@Module({ providers: [RequestLimits], exports: [RequestLimits] })
export class LimitsModule {}
