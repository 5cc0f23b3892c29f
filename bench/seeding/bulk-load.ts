import type { Client } from 'pg';

/** Recreating indexes is much faster than updating them row by row. The caller has locked the tables. */
export async function withoutIndexes(
  client: Client,
  tables: readonly string[],
  work: () => Promise<void>,
): Promise<void> {
  const { rows } = await client.query<{ remove: string; restore: string }>(
    `SELECT format('ALTER TABLE %s DROP CONSTRAINT %I', conrelid::regclass, conname) AS remove,
            format('ALTER TABLE %s ADD CONSTRAINT %I %s', conrelid::regclass, conname,
                   pg_get_constraintdef(oid)) AS restore
       FROM pg_constraint WHERE contype = 'u' AND conrelid = ANY ($1::text[]::regclass[])
     UNION ALL
     SELECT format('DROP INDEX %s', indexrelid::regclass), pg_get_indexdef(indexrelid)
       FROM pg_index
      WHERE indrelid = ANY ($1::text[]::regclass[])
        AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid AND contype IN ('p', 'u', 'x'))
      ORDER BY 2`,
    [tables],
  );
  for (const { remove } of rows) await client.query(remove);
  await work();
  for (const { restore } of rows) await client.query(restore);
}
