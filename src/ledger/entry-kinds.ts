/**
 * `topup` and `adjustment` come from staff; `hold` sets money aside for an order, `capture` spends it,
 * `release` gives it back; `refund` is given back by staff of what was captured.
 */
export const LEDGER_ENTRY_KINDS = ['topup', 'adjustment', 'hold', 'capture', 'release', 'refund'] as const;
export type LedgerEntryKind = (typeof LEDGER_ENTRY_KINDS)[number];
