export {
  AnyToken,
  callerOf,
  CurrentCaller,
  CurrentUserId,
  CUSTOMERS_SCHEME,
  Public,
  ReplaysOverLimit,
  Scopes,
  STAFF_SCHEME,
} from './access.decorators';
export type { ApiToken, TokenOrigin } from './api-token';
export {
  InvalidToken,
  NotAuthenticated,
  NotEnoughPermissions,
  ScopeNotGrantable,
  StaffScopesForAnother,
  TokenNotFound,
  TokenWiderThanIssuer,
  UserBlocked,
} from './auth.errors';
export { AccessRecheck, type RequestWait, tokenOf } from './access-recheck';
export { AuthModule } from './auth.module';
export { NetworksField } from './networks-field';
export { Route, type RouteOptions } from './route';
export { findRoutes } from './routes';
export {
  ALL_PAYMENT_SCOPES,
  ALL_SCOPES,
  ALL_STAFF_SCOPES,
  allowsScope,
  type CustomerScope,
  expandGroups,
  isCustomerScope,
  isPaymentScope,
  isScope,
  isStaffScope,
  READ_GROUP,
  type Scope,
  type StaffScope,
  USUAL_SCOPES,
  whatIsGranted,
} from './scopes';
export { generateSecret, hashToken, hexHashOf, isWellFormedSecret } from './token-text';
export { type Caller, type NewToken, TOKEN_REFERENCES, TokensService } from './tokens.service';
export { CreatedToken, Token } from './tokens/token.dto';
export { CustomerTokensModule } from './tokens/customer-tokens.module';
export { CustomerTokensService } from './tokens/customer-tokens.service';
export { TOKENS_DATA } from './personal-data';
