import { Module } from '@nestjs/common';
import { AuthModule, CustomerTokensModule } from '../../auth';
import { LimitsModule } from '../../http';
import { UsersModule } from '../users.module';
import { SignInController } from './sign-in.controller';
import { SignInService } from './sign-in.service';

@Module({
  imports: [AuthModule, CustomerTokensModule, LimitsModule, UsersModule],
  controllers: [SignInController],
  providers: [SignInService],
})
export class SignInModule {}
