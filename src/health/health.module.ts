import { Module } from '@nestjs/common';
import { HealthController } from './health.controller';
import { HomeController } from './home.controller';
import { ProbesController } from './probes.controller';
import { Readiness } from './readiness';

@Module({
  controllers: [HomeController, HealthController, ProbesController],
  providers: [Readiness],
  exports: [Readiness],
})
export class HealthModule {}
