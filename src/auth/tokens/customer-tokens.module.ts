import { Module } from '@nestjs/common';
import { AuthModule } from '../auth.module';
import { CustomerTokensController } from './customer-tokens.controller';
import { CustomerTokensService } from './customer-tokens.service';

@Module({
  imports: [AuthModule],
  controllers: [CustomerTokensController],
  providers: [CustomerTokensService],
  exports: [CustomerTokensService],
})
export class CustomerTokensModule {}
