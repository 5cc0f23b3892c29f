import type { PersonalData } from '../database';

const OF_PROXIES = 'WHERE proxy_id = ANY (ARRAY(SELECT id FROM proxies WHERE user_id = $1))';

/** Erasures keep hosts, logins and passwords, because the provider's next listing would restore them. */
export const PROXIES_DATA: PersonalData = {
  proxies: `
    UPDATE proxies SET label = NULL, tags = '{}' WHERE user_id = $1 AND (label IS NOT NULL OR tags <> '{}')`,
  proxy_changes: `SELECT FROM proxy_changes ${OF_PROXIES}`,
  proxy_checks: `DELETE FROM proxy_checks ${OF_PROXIES}`,
  export_links: 'DELETE FROM export_links WHERE user_id = $1',
};
