export { Conditions } from './conditions';
export { clientOutsideThePool, connectionPool, onEventsWritten } from './connection-pool';
export { createIndexConcurrently } from './concurrent-index';
export { dataSourceOptions, migrations } from './data-source-options';
export { DatabaseProbe } from './database-probe';
export { DatabaseModule } from './database.module';
export { Notifier } from './notifier';
export { RowWaiters, type RowWait, type WaitsByRow } from './row-waiters';
export { type DatabaseAddress, migrate, untilMigrated } from './migrate';
export { batchedLookup, groupedStatement } from './grouped-statement';
export { resolveCommitOutcome, StatementOutcomeUnknown } from './commit-outcome';
export {
  countRowsOfUser,
  ERASURE_EFFECTS,
  eraseRowsOfUser,
  lockRowsOfUser,
  type PersonalData,
  type RowsOfUser,
} from './personal-data';
export { preparedRow, preparedRows } from './prepared';
export { type Release, thisRelease } from './release';
export { UNKNOWN_MIGRATIONS } from './schema-version';
export { createRoleStatement, findExcessiveRights } from './service-role';
export { waitForStandby } from './standby';
export {
  databaseTime,
  isDatabaseUnavailable,
  isRefusedData,
  mayHaveCommitted,
  OUT_OF_RANGE,
  type Queryable,
  queryRow,
  queryRows,
  refusedBy,
  selectList,
  snakeCase,
  sqlList,
  sqlStateOf,
  requireRow,
  TransactionOutcomeUnknown,
  USER_ERASED,
  violatedConstraint,
} from './sql';
export { inTransaction } from './transaction';
export { changeOfUser, inQueueOf, lockUser } from './per-user-queue';
