import { Module } from '@nestjs/common';
import { AuthModule, CustomerTokensModule } from '../../auth';
import { UsersModule } from '../users.module';
import { SignInController } from './sign-in.controller';
import { SignInService } from './sign-in.service';

@Module({
  imports: [AuthModule, CustomerTokensModule, UsersModule],
  controllers: [SignInController],
  providers: [SignInService],
})
export class SignInModule {}
