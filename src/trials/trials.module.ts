import { Module } from '@nestjs/common';
import { ProxiesModule } from '../proxies';
import { Judge } from './judge';
import { JudgeController } from './judge.controller';
import { TrialHistoryService } from './trial-history.service';
import { TrialsController } from './trials.controller';
import { TrialsJobs } from './trials.jobs';
import { TrialsService } from './trials.service';

@Module({
  imports: [ProxiesModule],
  controllers: [TrialsController, JudgeController],
  providers: [Judge, TrialsService, TrialHistoryService, TrialsJobs],
  exports: [TrialHistoryService],
})
export class TrialsModule {}
