import { Module } from '@nestjs/common';
import { ProxiesModule } from '../proxies.module';
import { Judge } from './judge';
import { JudgeController } from './judge.controller';
import { TrialsRetention } from './trials-retention';
import { TrialsController } from './trials.controller';
import { TrialsService } from './trials.service';

@Module({
  imports: [ProxiesModule],
  controllers: [TrialsController, JudgeController],
  providers: [Judge, TrialsService, TrialsRetention],
})
export class TrialsModule {}
