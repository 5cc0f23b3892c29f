export { CreatedToken } from './dto/token.dto';
export { CustomerTokensModule } from './customer-tokens.module';
export { CustomerTokensService } from './customer-tokens.service';
