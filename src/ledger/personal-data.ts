import type { PersonalData } from '../database';

export const LEDGER_DATA: PersonalData = {
  accounts: 'UPDATE accounts SET low_balance = NULL WHERE user_id = $1 AND low_balance IS NOT NULL',
  ledger_entries: 'SELECT FROM ledger_entries WHERE user_id = $1',
};
