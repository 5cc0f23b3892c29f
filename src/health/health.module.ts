import { Module } from '@nestjs/common';
import { HealthController } from './health.controller';
import { HomeController } from './home.controller';

@Module({ controllers: [HomeController, HealthController] })
export class HealthModule {}
