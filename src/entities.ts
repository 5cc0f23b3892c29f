import { ApiToken, TokenSpending } from './auth';
import { Account, LedgerEntry } from './ledger';
import { Order, Orphan, UpstreamCall } from './orders';
import { DefaultMarkup, PriceRule } from './pricing';
import { Proxy } from './proxies';
import { StaffAction } from './staff';
import { User } from './users';

/** Every entity of the service: for the running application, the TypeORM command line, and the test of the schema against them. */
export const entities = [
  Account,
  ApiToken,
  DefaultMarkup,
  LedgerEntry,
  Order,
  Orphan,
  PriceRule,
  Proxy,
  StaffAction,
  TokenSpending,
  UpstreamCall,
  User,
];
