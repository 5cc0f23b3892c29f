/**
 * What every tag of an installation begins with: `prs.<environment>.u<user>.o<order>` is enough to rebuild a lost order's row. At most
 * 50 characters of [A-Za-z0-9._:-]. The environment is drawn when the database is made, so that two of them under one key tell their
 * proxies apart.
 */
export const TAG_PREFIX_SQL = `(SELECT format('prs.%s.', environment) FROM installation)`;
