export { batchedLookup } from './batched-lookup';
export { dataSourceOptions, migrations } from './data-source-options';
export { DatabaseModule } from './database.module';
export { migrate } from './migrate';
export { JobLease, REPLICA_ID } from './job-lease';
export { lookUpLost, StatementOutcomeUnknown } from './lost-answers';
export { preparedRows } from './prepared';
export {
  databaseTime,
  isDatabaseUnavailable,
  mayHaveCommitted,
  type Queryable,
  queryRows,
  selectList,
  sqlList,
  TransactionOutcomeUnknown,
  violatedConstraint,
} from './sql';
export { inTransaction } from './transaction';
