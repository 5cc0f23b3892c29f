import type { z } from 'zod';

/** A row that does not match the expected schema. */
export interface UnreadableRow {
  readonly row: unknown;
  /** The names of the fields that do not match; empty if the row is not an object. */
  readonly fields: readonly string[];
}

/** Reads an external list row by row; undefined if it is not a list, or has more than `limit` rows. */
export function readRows<Schema extends z.ZodType>(
  list: unknown,
  limit: number,
  schema: Schema,
): { readonly rows: z.output<Schema>[]; readonly odd: UnreadableRow[] } | undefined {
  if (!Array.isArray(list) || list.length > limit) return undefined;
  const rows: z.output<Schema>[] = [];
  const odd: UnreadableRow[] = [];
  for (const row of list as unknown[]) {
    const { data, error } = schema.safeParse(row);
    if (!error) {
      rows.push(data);
      continue;
    }
    const fields = error.issues.flatMap(({ path }) => path.slice(0, 1).map(String));
    odd.push({ row, fields: [...new Set(fields)] });
  }
  return { rows, odd };
}
