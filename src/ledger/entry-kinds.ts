/**
 * `topup` and `adjustment` come from staff; `hold` sets money aside for an order, `capture` spends it,
 * `release` returns it; with `refund`, staff return captured money.
 */
export const LEDGER_ENTRY_KINDS = ['topup', 'adjustment', 'hold', 'capture', 'release', 'refund'] as const;
export type LedgerEntryKind = (typeof LEDGER_ENTRY_KINDS)[number];
