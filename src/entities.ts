import { ApiToken, TokenSpending } from './auth';
import { Account, LedgerEntry } from './ledger';
import { Order, Orphan, UpstreamCall } from './orders';
import { Proxy } from './proxies';
import { StaffAction } from './staff';
import { User } from './users';

/** Every entity of the service: for the running application, the TypeORM command line, and the test of the schema against them. */
export const entities = [
  Account,
  ApiToken,
  LedgerEntry,
  Order,
  Orphan,
  Proxy,
  StaffAction,
  TokenSpending,
  UpstreamCall,
  User,
];
