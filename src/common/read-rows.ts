import type { z } from 'zod';

/** A row that does not match its schema. */
export interface OddRow {
  readonly row: unknown;
  /** The names of the fields that do not match; none when it is no object. */
  readonly fields: readonly string[];
}

/**
 * Reads a list that somebody else wrote row by row, because an odd row must not make the others unusable. A
 * list with more rows than were requested is not validated, which would take time and memory for each row.
 *
 * @returns undefined when there is no list, or it is longer than `limit`
 */
export function readRows<Schema extends z.ZodType>(
  list: unknown,
  limit: number,
  schema: Schema,
): { readonly rows: z.output<Schema>[]; readonly odd: OddRow[] } | undefined {
  if (!Array.isArray(list) || list.length > limit) return undefined;
  const rows: z.output<Schema>[] = [];
  const odd: OddRow[] = [];
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
