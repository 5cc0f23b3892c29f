/** `hold` reserves money for an order; `capture` charges it, `release` frees it. `refund` undoes a charge. */
export const LEDGER_ENTRY_KINDS = ['topup', 'adjustment', 'hold', 'capture', 'release', 'refund'] as const;
export type LedgerEntryKind = (typeof LEDGER_ENTRY_KINDS)[number];
