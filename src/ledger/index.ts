export { BalanceChangesPage } from './balance-change.dto';
export { BalanceHistoryService, selectEntries } from './balance-history.service';
export { LEDGER_ENTRY_KINDS, type LedgerEntryKind } from './entry-kinds';
export {
  BalanceTooLarge,
  InsufficientBalance,
  InvalidAmount,
  LARGEST_AMOUNT,
  OVERDRAFT,
  OVERFLOW,
} from './ledger.errors';
export { LedgerModule } from './ledger.module';
export { LedgerFilterQuery } from './ledger.query';
export { LedgerService, POSTED_ENTRY } from './ledger.service';
export { postEntriesSql } from './post-entries';
export { PostedEntryOut } from './posted-entry.dto';
export { SHOWN_KIND_SQL } from './shown-kind';
export { InvalidSalesCursor, InvalidSalesPeriod } from './sales/sales.errors';
export { SalesFiguresOut, SalesRowOut } from './sales/sales.dto';
export { type Sales, SALES_DIMENSIONS, type SalesSelection, SalesService } from './sales/sales.service';
export { LEDGER_DATA } from './personal-data';
