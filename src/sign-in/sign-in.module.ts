import { Module } from '@nestjs/common';
import { AuthModule } from '../auth';
import { LimitsModule } from '../limits';
import { CustomerTokensModule } from '../tokens';
import { UsersModule } from '../users';
import { SignInController } from './sign-in.controller';
import { SignInService } from './sign-in.service';

@Module({
  imports: [AuthModule, CustomerTokensModule, LimitsModule, UsersModule],
  controllers: [SignInController],
  providers: [SignInService],
})
export class SignInModule {}
