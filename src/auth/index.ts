export { CurrentUserId, Public, Scopes } from './access.decorators';
export { ApiToken } from './api-token.entity';
export { AuthModule } from './auth.module';
export { ALL_SCOPES, SCOPES, isScope, type Scope } from './scopes';
export { TokensService } from './tokens.service';
