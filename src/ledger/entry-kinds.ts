/** `hold` reserves an order's money, `capture` charges it, `release` returns a hold, `refund` a charge. */
export const LEDGER_ENTRY_KINDS = ['topup', 'adjustment', 'hold', 'capture', 'release', 'refund'] as const;
export type LedgerEntryKind = (typeof LEDGER_ENTRY_KINDS)[number];
