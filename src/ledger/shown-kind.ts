export const SHOWN_KINDS = ['hold', 'capture', 'release', 'refund', 'credit', 'debit'] as const;
export type ShownKind = (typeof SHOWN_KINDS)[number];

/** Must be the same expression as in the index `ledger_entries_shown_kind_idx`. */
export const SHOWN_KIND_SQL = `(
  CASE kind WHEN 'topup' THEN 'credit'
            WHEN 'adjustment' THEN CASE WHEN available_delta < 0 THEN 'debit' ELSE 'credit' END
            ELSE kind END)`;
