/**
 * Kinds of ledger entries. Staff and payments post `topup` and `adjustment`. For orders, `hold` sets money
 * aside, `capture` spends it, `release` returns it, and `refund` returns captured money.
 */
export const LEDGER_ENTRY_KINDS = ['topup', 'adjustment', 'hold', 'capture', 'release', 'refund'] as const;
export type LedgerEntryKind = (typeof LEDGER_ENTRY_KINDS)[number];
