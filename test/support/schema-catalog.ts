import type { Queryable } from '../../src/database';
import { queryRows } from '../../src/database';

/** Omits objects of extensions. */
const OWN = `NOT EXISTS (SELECT FROM pg_depend WHERE objid = oid AND deptype = 'e')`;
/** Omits the table in which TypeORM notes what has run. */
const TABLES = `SELECT oid, relname, relkind, relpersistence, reloptions, relacl FROM pg_class
                 WHERE relnamespace = 'public'::regnamespace AND relname !~ '^migrations' AND ${OWN}`;

/**
 * Everything that makes up the schema, as the catalogs have it, one line each. Omitted are the order of
 * columns, comments, also in functions, and the names of NOT NULL constraints, which servers before 18 lack.
 */
export async function readSchema(queryable: Queryable): Promise<string[]> {
  const rows = await queryRows<{ line: string }>(
    queryable,
    `WITH tables AS (${TABLES}),
     granted AS (
       SELECT 'table ' || relname AS name, relacl AS acl FROM tables WHERE relkind <> 'i'
       UNION ALL
       SELECT 'column ' || relname || '.' || attname, attacl
         FROM tables JOIN pg_attribute ON attrelid = tables.oid
       UNION ALL
       SELECT 'function ' || oid::regprocedure, coalesce(proacl, acldefault('f', proowner)) FROM pg_proc
        WHERE pronamespace = 'public'::regnamespace AND ${OWN}
       UNION ALL SELECT 'schema public', nspacl FROM pg_namespace WHERE nspname = 'public'
       UNION ALL SELECT 'new tables', defaclacl FROM pg_default_acl
     )
     SELECT concat_ws(' ', 'relation', relkind, relpersistence, relname, reloptions::text) AS line FROM tables
     UNION ALL
     SELECT concat_ws(' ', 'column', relname, attname, format_type(atttypid, atttypmod),
                      CASE WHEN attnotnull THEN 'NOT NULL' END, 'DEFAULT ' || pg_get_expr(adbin, adrelid),
                      'IDENTITY ' || nullif(attidentity::text, ''), attoptions::text,
                      attcollation::regcollation)
       FROM tables JOIN pg_attribute ON attrelid = tables.oid AND attnum > 0 AND NOT attisdropped
       LEFT JOIN pg_attrdef ON (adrelid, adnum) = (attrelid, attnum)
      WHERE relkind <> 'i'
     UNION ALL
     SELECT concat_ws(' ', 'constraint', relname, conname, convalidated,
                      pg_get_constraintdef(pg_constraint.oid))
       FROM pg_constraint JOIN tables ON conrelid = tables.oid WHERE contype <> 'n'
     UNION ALL
     SELECT concat_ws(' ', 'index', indisvalid, indisreplident, pg_get_indexdef(indexrelid))
       FROM pg_index JOIN tables ON indexrelid = tables.oid
     UNION ALL
     SELECT concat_ws(' ', 'function', prokind, proconfig::text,
                      regexp_replace(
                        regexp_replace(pg_get_functiondef(oid), '--.*?$', '', 'gn'), '\\s+', ' ', 'g'))
       FROM pg_proc WHERE pronamespace = 'public'::regnamespace AND ${OWN}
     UNION ALL
     SELECT concat_ws(' ', 'trigger', tgenabled, pg_get_triggerdef(pg_trigger.oid))
       FROM pg_trigger JOIN tables ON tgrelid = tables.oid WHERE NOT tgisinternal
     UNION ALL
     SELECT concat_ws(' ', 'sequence', relname, seqtypid::regtype, seqstart, seqincrement, seqmin, seqmax,
                      seqcycle,
                      (SELECT refobjid::regclass || '.' || attname
                         FROM pg_depend JOIN pg_attribute ON (attrelid, attnum) = (refobjid, refobjsubid)
                        WHERE objid = seqrelid AND deptype IN ('a', 'i')))
       FROM pg_sequence JOIN tables ON seqrelid = tables.oid
     UNION ALL
     SELECT concat_ws(' ', 'grant', name, grantor::regrole,
                      CASE grantee WHEN 0 THEN 'everybody' ELSE grantee::regrole::text END, privilege_type)
       FROM granted, LATERAL aclexplode(acl)
     UNION ALL SELECT 'extension ' || extname FROM pg_extension
     ORDER BY 1`,
  );
  return rows.map(({ line }) => line);
}
