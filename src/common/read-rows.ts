import type { z } from 'zod';

export interface UnreadableRow {
  readonly row: unknown;
  /** Names of the unreadable fields; empty if the row is not an object. */
  readonly fields: readonly string[];
}

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
