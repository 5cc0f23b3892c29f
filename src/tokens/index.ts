export { CreatedToken } from './token.dto';
export { CustomerTokensModule } from './customer-tokens.module';
export { CustomerTokensService } from './customer-tokens.service';
